import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { groupAttempts } from "./attempts.ts";
import type { Credit } from "./credit.ts";
import { creditResult } from "./credit-result.ts";
import { gatherSampled, scatterSampled } from "./sampled.ts";
import { zerosLike } from "./spread.ts";
import { tokenRewards } from "./token-rewards.ts";

export interface VTraceOptions {
  readonly gamma: number;
  readonly lambda: number;
  /** Bound on the ratio in temporal differences: which policy's value is learned. */
  readonly maxRatio: number;
  /** Bound on the ratio in traces: how fast corrections fade. */
  readonly maxTrace: number;
  /** Bound on the ratio in advantages. */
  readonly maxAdvantageRatio: number;
}

const defaults: VTraceOptions = { gamma: 1, lambda: 1, maxRatio: 1, maxTrace: 1, maxAdvantageRatio: 1 };

const known: KnownOptions<VTraceOptions> = {
  gamma: true,
  lambda: true,
  maxRatio: true,
  maxTrace: true,
  maxAdvantageRatio: true,
};

/**
 * V-trace: credit for rollouts of an older policy. Advantages carry the ratio already: use a loss without one. Runs through
 * all rows of a rollout.
 */
export function vTrace(options: Partial<VTraceOptions> = {}): Credit {
  refuseUnknownOptions("vTrace", options, known);
  const needs = { values: true, ratios: true };
  return {
    name: "v-trace",
    needs,
    assign(rows) {
      const groups = groupAttempts(rows, needs);
      const rewards_B_T = tokenRewards(rows, groups);
      const advantages_B_T = zerosLike(rows);
      const returns_B_T = zerosLike(rows);
      for (const { rows: chain } of groups.flat()) {
        const rewards_T = gatherSampled(rows, chain, (b) => rewards_B_T[b]);
        const values_T = gatherSampled(rows, chain, (b) => rows[b].values_T!);
        const ratios_T = gatherSampled(rows, chain, (b) => rows[b].ratios_T!);
        const { advantages_T, targets_T } = vTraceTargets({ ...options, rewards_T, values_T, ratios_T });
        scatterSampled(rows, chain, advantages_T, advantages_B_T);
        scatterSampled(rows, chain, targets_T, returns_B_T);
      }
      return creditResult(rows, groups, advantages_B_T, { returns_B_T });
    },
  };
}

export interface VTraceInput extends Partial<VTraceOptions> {
  /** Of sampled tokens alone, like the other two. */
  readonly rewards_T: ArrayLike<number>;
  readonly values_T: ArrayLike<number>;
  /** Current over behaviour probability. */
  readonly ratios_T: ArrayLike<number>;
}

/** `v_t = V_t + rho_t * (r_t + gamma * V_(t+1) - V_t) + gamma * c_t * (v_(t+1) - V_(t+1))`; what follows the last is worth 0. */
export function vTraceTargets(input: VTraceInput) {
  const { rewards_T, values_T, ratios_T, gamma, lambda, maxRatio, maxTrace, maxAdvantageRatio } = {
    ...defaults,
    ...input,
  };
  const targets_T = new Float64Array(rewards_T.length);
  const advantages_T = new Float64Array(rewards_T.length);
  let nextValue = 0;
  let nextTarget = 0;
  for (let t = rewards_T.length - 1; t >= 0; t--) {
    const reward = rewards_T[t];
    const value = values_T[t];
    const ratio = ratios_T[t];
    const difference = Math.min(maxRatio, ratio) * (reward + gamma * nextValue - value);
    const trace = lambda * Math.min(maxTrace, ratio);
    advantages_T[t] = Math.min(maxAdvantageRatio, ratio) * (reward + gamma * nextTarget - value);
    nextTarget = value + difference + gamma * trace * (nextTarget - nextValue);
    targets_T[t] = nextTarget;
    nextValue = value;
  }
  return { targets_T, advantages_T };
}
