export type { Algorithm, Critic, Optimizer, Sampling } from "./algorithm.ts";
export { type FromScratchOptions, fromScratch } from "./from-scratch.ts";
export {
  type CispoPresetOptions,
  cispo,
  type DapoOptions,
  type DrGrpoOptions,
  dapo,
  deepswe,
  drGrpo,
  type GigpoPresetOptions,
  type GrpoOptions,
  type GspoOptions,
  gigpo,
  grpo,
  gspo,
  mGrpo,
  type RlooOptions,
  rloo,
  type VspoOptions,
  vspo,
} from "./presets/grpo.ts";
export {
  type PpoOptions,
  ppo,
  type ReinforcePlusPlusPresetOptions,
  type RemaxOptions,
  reinforcePlusPlus,
  remax,
  type StarpoOptions,
  type StarpoSOptions,
  starpo,
  starpoS,
  type VapoOptions,
  vapo,
} from "./presets/ppo.ts";
export type { CommonOptions } from "./presets/preset.ts";
export { cosine, linear, type Schedule, scheduleAt, warmup } from "./schedule.ts";
export type { LearningPolicy, MakePolicy, TrainConfig, TrainResult } from "./train.ts";
export { train } from "./train-sync.ts";
export { type ImitateOptions, imitate, imitationRow, succeeded, type WarmStart } from "./warm-start.ts";
