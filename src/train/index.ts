import "../check-node.ts";

export type { Algorithm, Critic, Optimizer, Sampling } from "./algorithm.ts";
export type { AsyncOptions, InterruptMode } from "./async/async-options.ts";
export { type FromPretrainedOptions, fromPretrained, type PretrainedModel } from "./from-pretrained.ts";
export { type FromRun, type FromRunOptions, fromRun } from "./from-run.ts";
export { type FromScratchOptions, fromScratch } from "./from-scratch.ts";
export type { LearningPolicy, MakePolicy } from "./learning-policy.ts";
export { type OfflineConfig, type OfflineResult, trainOffline } from "./offline.ts";
export type { Example, OfflineAlgorithm } from "./offline-algorithm.ts";
export {
  type PairOptions,
  type PairSide,
  type PreferencePair,
  type StepPairOptions,
  stepPairs,
  successPairs,
  trajectoryPairs,
} from "./pairs.ts";
export { withDast } from "./presets/dast.ts";
export { type DistilSearchOptions, distilSearch } from "./presets/distil-search.ts";
export {
  type CispoOptions,
  cispo,
  type DapoOptions,
  type DrGrpoOptions,
  dapo,
  deepswe,
  drGrpo,
  type GigpoOptions,
  type GrpoOptions,
  type GspoOptions,
  gigpo,
  grpo,
  gspo,
  mGrpo,
  type RlooOptions,
  recommended,
  rloo,
  type VspoOptions,
  vspo,
} from "./presets/grpo.ts";
export { type GuidedOptions, guided, guidedPairs } from "./presets/guided.ts";
export {
  type ArealOptions,
  areal,
  type ImpalaOptions,
  impala,
  type RetracePpoOptions,
  retracePpo,
  type TruncatedImportanceOptions,
  truncatedImportance,
} from "./presets/off-policy.ts";
export {
  type DpoOptions,
  dpo,
  type ImitateOfflineOptions,
  imitateOffline,
  type KtoOptions,
  kto,
  type OfflineOptions,
  type RejectionTuningOptions,
  rejectionTuning,
} from "./presets/offline.ts";
export { ppo, type VapoOptions, vapo } from "./presets/ppo.ts";
export type { PpoOptions } from "./presets/ppo-like.ts";
export type { CommonOptions } from "./presets/preset.ts";
export {
  type ReinforcePlusPlusOptions,
  type RemaxOptions,
  reinforcePlusPlus,
  remax,
} from "./presets/reinforce.ts";
export { type RelabellingOptions, relabelling } from "./presets/relabelling.ts";
export { type StarpoOptions, type StarpoSOptions, starpo, starpoS } from "./presets/starpo.ts";
export {
  type Replay,
  type ReplayContext,
  type ReplayOptions,
  replayGroups,
  replaySuccesses,
  type SuccessReplayOptions,
} from "./replay.ts";
export {
  type Drawn,
  type FifoOptions,
  fifoBuffer,
  type PriorityOptions,
  priorityBuffer,
  type ReplayBuffer,
  type SuccessOptions,
  successBuffer,
} from "./replay-buffer.ts";
export { cosine, type LearningRate, linearSchedule, type Schedule, warmup } from "./schedule.ts";
export {
  type Scorer,
  type ScorerOptions,
  type StepScorerModel,
  type StepScorerOptions,
  trainScorer,
  trainStepScorer,
} from "./scorer.ts";
export { type SearchedPairOptions, searchedPairs } from "./searched-pairs.ts";
export { storedGroups, storedTrajectories } from "./stored-groups.ts";
export type { TrainConfig, TrainResult } from "./train.ts";
export { train } from "./train-sync.ts";
export {
  type RemediedResult,
  type RemedyOptions,
  type RemedySwitch,
  trainWithRemedies,
} from "./train-with-remedies.ts";
export { type ImitateOptions, imitate, succeeded, type WarmStart } from "./warm-start.ts";
