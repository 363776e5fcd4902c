export type {
  Alternatives,
  Derivatives,
  Engine,
  EngineInfo,
  Forward,
  ForwardOptions,
  OptimizerOptions,
  Sample,
  SampleRequest,
  SampleStop,
  SnapshotOptions,
  StepReport,
  TokenBatch,
  TokenRow,
  Tokens,
} from "./engine/engine.ts";
export { policyWeights } from "./engine/engine.ts";
export { type ErrorDetails, LudusError } from "./errors.ts";
