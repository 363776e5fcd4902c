export { type EmbeddedOptions, embedded } from "./engine/embedded/embedded.ts";
export {
  base,
  type ModelConfig,
  type PresetOptions,
  parseModelConfig,
  small,
  tiny,
} from "./engine/embedded/model-config.ts";
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
  type SnapshotOptions,
  type StepReport,
  type TokenBatch,
  type TokenRow,
  type Tokens,
} from "./engine/engine.ts";
export { type ErrorDetails, LudusError } from "./errors.ts";
export {
  type ByteLevelOptions,
  byteTokenizer,
  type ChatMessage,
  defaultChatTemplate,
  type EncodeChatOptions,
  encodeChat,
  loadTokenizer,
  type RenderChatOptions,
  renderChat,
  type Tokenizer,
  type TrainBpeOptions,
  tokenizerFromFiles,
  tokenizerFromJson,
  trainBpe,
} from "./policy/index.ts";
export { createRng, type Rng, uniformAt } from "./random.ts";
