import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { groupAttempts } from "./attempts.ts";
import type { Credit } from "./credit.ts";
import { creditResult } from "./credit-result.ts";
import { relativeAdvantages } from "./relative-advantages.ts";
import { spreadOverAttempts, zerosLike } from "./spread.ts";
import { whitenMasked } from "./statistics.ts";
import { tokenRewards } from "./token-rewards.ts";

export interface ReinforcePlusPlusCreditOptions {
  /** Per sampled token. */
  readonly gamma: number;
}

const defaults: ReinforcePlusPlusCreditOptions = { gamma: 1 };

const known: KnownOptions<ReinforcePlusPlusCreditOptions> = { gamma: true };

/** REINFORCE++: the discounted return of each sampled token, whitened over all sampled tokens of the batch. */
export function reinforcePlusPlusCredit(options: Partial<ReinforcePlusPlusCreditOptions> = {}): Credit {
  refuseUnknownOptions("reinforcePlusPlusCredit", options, known);
  const { gamma } = { ...defaults, ...options };
  return {
    name: "reinforce-plus-plus",
    needs: {},
    assign(rows) {
      const groups = groupAttempts(rows);
      const rewards_B_T = tokenRewards(rows, groups);
      const advantages_B_T = zerosLike(rows);
      for (const { rows: chain } of groups.flat()) {
        let following = 0;
        for (let i = chain.length - 1; i >= 0; i--) {
          const b = chain[i];
          following = tokenReturns(rewards_B_T[b], rows[b].mask_T, gamma, following, advantages_B_T[b]);
        }
      }
      whitenMasked(advantages_B_T, rows);
      return creditResult(rows, groups, advantages_B_T);
    },
  };
}

/** REINFORCE++-baseline: the reward less its group's mean, whitened over all sampled tokens of the batch. */
export function reinforcePlusPlusBaselineCredit(): Credit {
  return {
    name: "reinforce-plus-plus-baseline",
    needs: {},
    assign(rows) {
      const groups = groupAttempts(rows);
      const centred = (rewards_G: Float64Array) => relativeAdvantages(rewards_G, { scale: "none" });
      const advantages_B_T = spreadOverAttempts(rows, groups, centred);
      whitenMasked(advantages_B_T, rows);
      return creditResult(rows, groups, advantages_B_T);
    },
  };
}

// Observations neither discount nor reset the return: what the environment says takes no time of the policy's.
function tokenReturns(
  rewards_T: Float32Array,
  mask_T: Uint8Array,
  gamma: number,
  following: number,
  out_T: Float32Array,
): number {
  let running = following;
  for (let t = mask_T.length - 1; t >= 0; t--) {
    if (mask_T[t] === 0) continue;
    running = rewards_T[t] + gamma * running;
    out_T[t] = running;
  }
  return running;
}
