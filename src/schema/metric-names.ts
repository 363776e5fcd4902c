/**
 * Names of what is measured, `stage/name`. Whoever reads metrics (doctor, dashboard, tests) takes the names from here.
 * Names under `time/`, `speed/` and `async/` depend on the machine; all others are the same bits when a run is repeated or resumed.
 */
export const metric = {
  reward: "rollout/reward",
  success: "rollout/success",
  turns: "rollout/turns",
  /** Mean turns as a share of the limit. */
  turnShare: "rollout/turn-share",
  tokens: "rollout/tokens",
  /**
   * What a step cost: attempts that were made and tokens that were sampled, whether anything was learned from them or not (groups that
   * the filter dropped, infrastructure failures, attempts made again, greedy baselines).
   */
  rollouts: "rollout/rollouts",
  sampledTokens: "rollout/sampled-tokens",
  stop: (reason: string) => `rollout/stop/${reason}`,
  rewardPart: (part: string) => `reward/${part}`,
  toolCalls: "tool/calls",
  toolUnknown: "tool/unknown-share",
  toolErrors: "tool/error-share",
  asks: "permission/asks",
  denials: "permission/denials",
  violations: "permission/violations",
  /** Turns that say what the turn before said, as a share of turns that have one before. */
  repeats: "rollout/repeat-share",
  /** Mean over groups of the standard deviation of their rewards. */
  rewardStd: "group/reward-std",
  /** Groups whose rewards are all equal, as a share of all groups; of them, those that all failed and all passed. */
  uniform: "filter/uniform-groups",
  uniformFail: "filter/all-fail",
  uniformPass: "filter/all-pass",
  /** Mean of -log p of the sampled tokens: an estimate of the policy's entropy where it was sampled from at temperature 1. */
  entropy: "policy/entropy",
  /** Largest and mean difference between sampled log-probabilities and those of the forward pass. */
  mismatchMax: "policy/mismatch-max",
  mismatchMean: "policy/mismatch-mean",
  clipLow: "policy/clip-low",
  clipHigh: "policy/clip-high",
  /** How far one update moved the policy, and how far it is from the reference, in nats a token. */
  klOldNew: "policy/kl-old-new",
  klReference: "policy/kl-reference",
  /** Coefficient of the penalty in the reward, in this step. */
  klCoefficient: "policy/kl-coefficient",
  valueError: "value/squared-error",
  gradientNorm: "update/gradient-norm",
  skippedSteps: "update/skipped",
  learningRate: "update/learning-rate",
  loss: "update/loss",
  /** Share of the loss's derivatives (absolute sum) that falls on tokens nobody sampled: 0, or the mask is off. */
  unsampledShare: "update/unsampled-share",
  /** Mean size of the advantage of a sampled token. */
  advantage: "credit/absolute-advantage",
  /** Groups that the guide added to what was sampled; absent where it added none. */
  extraGroups: "guide/extra-groups",
  /** Of a warm start: -log p of what the demonstrators said, mean over tokens. */
  imitationLoss: "imitation/nll",
  /** Of a warm start: the share of sound demonstrations that solved their task. */
  expertSuccess: "imitate/expert-success",
  /**
   * Of asynchronous training. Age of the sampled tokens a step learns from, in steps: mean, largest, and the share of tokens of each age.
   * The share of time that the trainer waited for groups, and that no rollout was under way; groups that wait; sampled tokens that
   * nothing was learned from, for they were too old or their attempt failed. What waits for what depends on the machine.
   */
  stalenessMean: "async/staleness-mean",
  stalenessMax: "async/staleness-max",
  staleness: (steps: string) => `async/staleness/${steps}`,
  trainerWaits: "async/trainer-waits",
  samplerWaits: "async/sampler-waits",
  bufferLength: "async/buffer-length",
  droppedTokens: "async/dropped-tokens",
  evalSuccess: "eval/success",
  evalReward: "eval/reward",
  seconds: (stage: string) => `time/${stage}`,
  /** Sampled, over the whole step. */
  tokensPerSecond: "speed/tokens-per-second",
} as const;

/**
 * What metrics were called in older runs, by today's name. Stores read them under today's name, so a renamed metric needs a
 * line here and nothing else. Where a step has several of them, today's name counts first, then the list's order.
 */
export const formerMetricNames: Readonly<Record<string, readonly string[]>> = {
  [metric.rewardStd]: ["group/deviation"],
  [metric.klReference]: ["kl/policy-reference"],
};
