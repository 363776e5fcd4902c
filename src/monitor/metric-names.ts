/**
 * Names of what is measured, `stage/name`. Whoever reads metrics (doctor, dashboard, tests) takes the names from here.
 * Names under `time/` and `speed/` depend on the machine; all others are the same bits when a run is repeated or resumed.
 */
export const metric = {
  reward: "rollout/reward",
  success: "rollout/success",
  turns: "rollout/turns",
  /** Mean turns as a share of the limit. */
  turnShare: "rollout/turn-share",
  tokens: "rollout/tokens",
  sampledTokens: "rollout/sampled-tokens",
  stop: (reason: string) => `rollout/stop/${reason}`,
  rewardPart: (part: string) => `reward/${part}`,
  toolCalls: "tool/calls",
  toolUnknown: "tool/unknown-share",
  toolErrors: "tool/error-share",
  /** Turns that say what the turn before said, as a share of turns that have one before. */
  repeats: "rollout/repeat-share",
  deviation: "group/deviation",
  uniformFail: "group/uniform-fail",
  uniformPass: "group/uniform-pass",
  /** Mean of -log p of the sampled tokens: an estimate of the policy's entropy where it was sampled from at temperature 1. */
  entropy: "policy/entropy",
  /** Largest and mean difference between sampled log-probabilities and those of the forward pass. */
  mismatchMax: "policy/mismatch-max",
  mismatchMean: "policy/mismatch-mean",
  gradientNorm: "update/gradient-norm",
  skippedSteps: "update/skipped",
  learningRate: "update/learning-rate",
  loss: "update/loss",
  /** Share of the loss's derivatives (absolute sum) that falls on tokens nobody sampled: 0, or the mask is off. */
  unsampledShare: "update/unsampled-share",
  advantage: "credit/advantage",
  evalSuccess: "eval/success",
  evalReward: "eval/reward",
  seconds: (stage: string) => `time/${stage}`,
  tokensPerSecond: "speed/tokens-per-second",
} as const;
