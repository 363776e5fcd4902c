import "../check-node.ts";

export { type EmbeddedOptions, embedded } from "./embedded/embedded.ts";
export { type EmbeddedSamplerOptions, embeddedSampler } from "./embedded/embedded-sampler.ts";
export {
  type Alternatives,
  type Derivatives,
  type Engine,
  type EngineInfo,
  type Forward,
  type ForwardOptions,
  type OptimizerOptions,
  policyWeights,
  type Sample,
  type SampleRequest,
  type SampleStop,
  type SaveOptions,
  type SnapshotOptions,
  type StepReport,
  type TokenBatch,
  type TokenRow,
  type Tokens,
} from "./engine.ts";
export type { EngineLack } from "./engine-lack.ts";
export { exportGguf, type GgufOptions } from "./model/gguf/export-gguf.ts";
export { type ModelConfig, models, type PresetOptions, parseModelConfig } from "./model/model-config.ts";
export type { PublishedWeights, Sampler } from "./sampler.ts";
export { type SamplerNews, type SplitOptions, splitEngine } from "./split-engine.ts";
export { tinker } from "./tinker/tinker.ts";
export type { TinkerOptions } from "./tinker/tinker-options.ts";
export { type TorchOptions, torch } from "./torch/torch.ts";
export { type TorchSamplerOptions, torchSampler } from "./torch/torch-sampler.ts";
export { vllm } from "./torch/vllm.ts";
export { type VllmWeightsOptions, vllmWeights } from "./torch/vllm-weights.ts";
export type { WeightSender, WeightsInfo } from "./torch/weight-sender.ts";
