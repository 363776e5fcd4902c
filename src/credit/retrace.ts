import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { groupAttempts } from "./attempts.ts";
import type { Credit } from "./credit.ts";
import { creditResult } from "./credit-result.ts";
import { gatherSampled, scatterSampled } from "./sampled.ts";
import { zerosLike } from "./spread.ts";
import { tokenRewards } from "./token-rewards.ts";

export interface RetraceOptions {
  readonly gamma: number;
  readonly lambda: number;
}

const defaults: RetraceOptions = { gamma: 1, lambda: 1 };

const known: KnownOptions<RetraceOptions> = { gamma: true, lambda: true };

/**
 * Retrace(lambda): credit for rollouts of an older policy, whose advantages do not carry the ratio: use a loss that has one.
 * There is no action value here, so the state's stands in for it; with ratios of 1 it is GAE. Runs through all rows of a
 * rollout.
 */
export function retrace(options: Partial<RetraceOptions> = {}): Credit {
  refuseUnknownOptions("retrace", options, known);
  const { gamma, lambda } = { ...defaults, ...options };
  const needs = { values: true, ratios: true };
  return {
    name: "retrace",
    needs,
    assign(rows) {
      const groups = groupAttempts(rows, needs);
      const rewards_B_T = tokenRewards(rows, groups);
      const advantages_B_T = zerosLike(rows);
      const returns_B_T = zerosLike(rows);
      for (const { rows: chain } of groups.flat()) {
        const values_T = gatherSampled(rows, chain, (b) => rows[b].values_T!);
        const ratios_T = gatherSampled(rows, chain, (b) => rows[b].ratios_T!);
        const rewards_T = gatherSampled(rows, chain, (b) => rewards_B_T[b]);
        const traced = { rewards_T, stateValues_T: values_T, actionValues_T: values_T, ratios_T, gamma, lambda };
        const advantages_T = retraceTargets(traced);
        for (let t = 0; t < values_T.length; t++) advantages_T[t] = advantages_T[t] - values_T[t];
        scatterSampled(rows, chain, advantages_T, advantages_B_T);
        // a target of the state, not of the action taken: the surprise counts as far as the current policy takes that action
        for (let t = 0; t < values_T.length; t++) {
          values_T[t] = values_T[t] + Math.min(1, ratios_T[t]) * advantages_T[t];
        }
        scatterSampled(rows, chain, values_T, returns_B_T);
      }
      return creditResult(rows, groups, advantages_B_T, { returns_B_T });
    },
  };
}

export interface RetraceInput extends RetraceOptions {
  readonly rewards_T: ArrayLike<number>;
  /** Expected action value of each state under the current policy. */
  readonly stateValues_T: ArrayLike<number>;
  readonly actionValues_T: ArrayLike<number>;
  readonly ratios_T: ArrayLike<number>;
}

/**
 * Targets of action values: `q_t = r_t + gamma * V_(t+1) + gamma * c_(t+1) * (q_(t+1) - Q_(t+1))` with
 * `c = lambda * min(1, ratio)`; what follows the last is worth 0.
 */
export function retraceTargets(input: RetraceInput): Float64Array<ArrayBuffer> {
  const { rewards_T, stateValues_T, actionValues_T, ratios_T, gamma, lambda } = input;
  const targets_T = new Float64Array(rewards_T.length);
  let following = 0;
  for (let t = rewards_T.length - 1; t >= 0; t--) {
    const target = rewards_T[t] + gamma * following;
    targets_T[t] = target;
    const trace = lambda * Math.min(1, ratios_T[t]);
    following = stateValues_T[t] + trace * (target - actionValues_T[t]);
  }
  return targets_T;
}
