import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { groupAttempts } from "./attempts.ts";
import type { Credit } from "./credit.ts";
import { creditResult } from "./credit-result.ts";
import { denseGae } from "./dense-gae.ts";
import { gatherSampled, scatterSampled } from "./sampled.ts";
import { zerosLike } from "./spread.ts";
import { whitenMasked } from "./statistics.ts";
import { stepsOf } from "./steps.ts";
import { tokenRewards } from "./token-rewards.ts";

export interface BiLevelGaeOptions {
  /** Between sampled tokens of a turn. */
  readonly gamma: number;
  readonly lambda: number;
  /** From turn to turn. */
  readonly turnGamma: number;
  readonly whiten: boolean;
}

const defaults: BiLevelGaeOptions = { gamma: 1, lambda: 1, turnGamma: 0.95, whiten: true };

const known: KnownOptions<BiLevelGaeOptions> = { gamma: true, lambda: true, turnGamma: true, whiten: true };

/** RAGEN's GAE on two levels: from turn to turn, then within each turn. Runs through all rows of a rollout. */
export function biLevelGae(options: Partial<BiLevelGaeOptions> = {}): Credit {
  refuseUnknownOptions("biLevelGae", options, known);
  const settings = { ...defaults, ...options };
  const needs = { values: true };
  return {
    name: "bi-level-gae",
    needs,
    assign(rows) {
      const groups = groupAttempts(rows, needs);
      const rewards_B_T = tokenRewards(rows, groups);
      const turnEnds_B_T = rows.map(({ mask_T }) => new Uint8Array(mask_T.length));
      const advantages_B_T = zerosLike(rows);
      const returns_B_T = zerosLike(rows);
      for (const attempt of groups.flat()) {
        const chain = attempt.rows;
        for (const { row, end } of stepsOf(rows, attempt)) turnEnds_B_T[row][end - 1] = 1;
        const values_T = gatherSampled(rows, chain, (b) => rows[b].values_T!);
        const advantages_T = biLevelAdvantages({
          ...settings,
          rewards_T: gatherSampled(rows, chain, (b) => rewards_B_T[b]),
          values_T,
          turnEnds_T: gatherSampled(rows, chain, (b) => turnEnds_B_T[b]),
        });
        scatterSampled(rows, chain, advantages_T, advantages_B_T);
        for (let t = 0; t < values_T.length; t++) values_T[t] = values_T[t] + advantages_T[t];
        scatterSampled(rows, chain, values_T, returns_B_T);
      }
      if (settings.whiten) whitenMasked(advantages_B_T, rows);
      return creditResult(rows, groups, advantages_B_T, { returns_B_T });
    },
  };
}

export interface BiLevelInput extends Omit<BiLevelGaeOptions, "whiten"> {
  /** Of sampled tokens alone. */
  readonly rewards_T: ArrayLike<number>;
  readonly values_T: ArrayLike<number>;
  /**
   * 1 at the last token of each turn. RAGEN takes the tokens whose reward is not 0 instead, so a turn that earned exactly 0
   * runs into the next one.
   */
  readonly turnEnds_T: ArrayLike<number>;
}

/** GAE over turn ends; their returns then stand in for their rewards, and GAE runs within each turn. */
export function biLevelAdvantages(input: BiLevelInput): Float64Array<ArrayBuffer> {
  const { rewards_T, values_T, turnEnds_T, gamma, lambda, turnGamma } = input;
  const ends: number[] = [];
  for (let t = 0; t < turnEnds_T.length; t++) if (turnEnds_T[t] !== 0) ends.push(t);
  const turnValues_K = Float64Array.from(ends, (t) => values_T[t]);
  const turnAdvantages_K = denseGae({
    rewards_T: Float64Array.from(ends, (t) => rewards_T[t]),
    values_T: turnValues_K,
    gamma: turnGamma,
    lambda,
  });
  const advantages_T = new Float64Array(rewards_T.length);
  let k = ends.length;
  let nextValue = 0;
  let advantage = 0;
  for (let t = rewards_T.length - 1; t >= 0; t--) {
    const value = values_T[t];
    if (turnEnds_T[t] !== 0) advantage = turnAdvantages_K[--k];
    else advantage = rewards_T[t] + gamma * nextValue - value + gamma * lambda * advantage;
    advantages_T[t] = advantage;
    nextValue = value;
  }
  return advantages_T;
}
