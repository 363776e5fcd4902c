import { knownEvalOptions } from "../eval/evaluate.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { knownLimits } from "../rollout/limits.ts";
import type { Algorithm, Critic, Optimizer, Sampling } from "./algorithm.ts";
import type { OfflineAlgorithm } from "./offline-algorithm.ts";
import type { RolloutSettings } from "./stages/stage-context.ts";
import type { TrainConfig } from "./train.ts";

const knownConfig: KnownOptions<TrainConfig> = {
  env: true,
  policy: true,
  algorithm: true,
  steps: true,
  tasksPerStep: true,
  warmStart: true,
  guide: true,
  groupReward: true,
  source: true,
  rollout: true,
  sandbox: true,
  concurrency: true,
  async: true,
  learners: true,
  replay: true,
  eval: true,
  seed: true,
  run: true,
  store: true,
  accept: true,
  save: true,
  budget: true,
  earlyStop: true,
  monitors: true,
  now: true,
  signal: true,
};

type Given<Key extends keyof TrainConfig> = NonNullable<TrainConfig[Key]>;

const knownRollout: KnownOptions<RolloutSettings> = { limits: true, format: true, context: true, sandbox: true };
const knownEval: KnownOptions<Given<"eval">> = { ...knownEvalOptions, every: true, retainEpisodes: true };
const knownSave: KnownOptions<Given<"save">> = { every: true, retain: true, retainEvery: true };
const knownBudget: KnownOptions<Given<"budget">> = { seconds: true, tokens: true };
const knownEarlyStop: KnownOptions<Given<"earlyStop">> = { success: true, window: true };

// one that is of both kinds, such as rejection tuning, is told to both
const knownAlgorithm: KnownOptions<Algorithm & OfflineAlgorithm> = {
  name: true,
  groupSize: true,
  sampling: true,
  filter: true,
  credit: true,
  loss: true,
  epochs: true,
  miniBatches: true,
  optimizer: true,
  maskStops: true,
  learnFrom: true,
  targetsOf: true,
  view: true,
  compareWith: true,
  weigh: true,
  klInReward: true,
  critic: true,
  options: true,
  examples: true,
  reference: true,
};
const knownSampling: KnownOptions<Sampling> = { temperature: true, topP: true, topK: true, epsilonTool: true };
const knownOptimizer: KnownOptions<Optimizer> = {
  learningRate: true,
  weightDecay: true,
  beta2: true,
  maxGradientNorm: true,
};
const knownCritic: KnownOptions<Critic> = { kind: true, learningRate: true, pretrainSteps: true };

/** Misspelt settings of a run and of the algorithm it is trained with, at every level. */
export function refuseUnknownSettings<Data>(config: TrainConfig<Data>): void {
  const { algorithm, eval: evaluation, rollout } = config;
  refuseUnknownOptions("train", config, knownConfig);
  refuseUnknownOptions("train: eval", evaluation, knownEval);
  refuseUnknownOptions("train: eval.limits", evaluation?.limits, knownLimits);
  refuseUnknownOptions("train: rollout", rollout, knownRollout);
  refuseUnknownOptions("train: rollout.limits", rollout?.limits, knownLimits);
  refuseUnknownOptions("train: save", config.save, knownSave);
  refuseUnknownOptions("train: budget", config.budget, knownBudget);
  refuseUnknownOptions("train: earlyStop", config.earlyStop, knownEarlyStop);
  refuseUnknownFields("train", algorithm);
}

/** Of an algorithm, which may have been made by hand. */
export function refuseUnknownFields(what: string, algorithm: Partial<Algorithm & OfflineAlgorithm> | undefined): void {
  refuseUnknownOptions(`${what}: algorithm`, algorithm, knownAlgorithm);
  refuseUnknownOptions(`${what}: algorithm.sampling`, algorithm?.sampling, knownSampling);
  refuseUnknownOptions(`${what}: algorithm.optimizer`, algorithm?.optimizer, knownOptimizer);
  refuseUnknownOptions(`${what}: algorithm.critic`, algorithm?.critic, knownCritic);
}
