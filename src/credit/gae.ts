import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { groupAttempts } from "./attempts.ts";
import type { Credit, CreditRow } from "./credit.ts";
import { creditResult } from "./credit-result.ts";
import { countSampled } from "./sampled.ts";
import { whitenMasked } from "./statistics.ts";
import { tokenGae } from "./token-gae.ts";
import { tokenRewards } from "./token-rewards.ts";

/** A number, or one that depends on how many tokens were sampled (`lengthAdaptiveLambda`). */
export type Lambda = number | ((sampledTokens: number) => number);

export interface GaeOptions {
  readonly gamma: number;
  readonly lambda: Lambda;
  /** For the returns that values learn from (VAPO: 1); absent, that of the advantages. */
  readonly criticLambda?: Lambda;
  /** Over all sampled tokens of the batch; returns are never whitened. */
  readonly whiten: boolean;
  /**
   * A rollout of several rows. `apart`: GAE runs within each row, and a row that is not the last ends in the value of the
   * next row's first sampled token. `chained`: it runs through all rows as if they were one.
   */
  readonly rows: "apart" | "chained";
}

const defaults: GaeOptions = { gamma: 1, lambda: 1, whiten: true, rows: "chained" };

const known: KnownOptions<GaeOptions> = { gamma: true, lambda: true, criticLambda: true, whiten: true, rows: true };

/** PPO's credit: GAE over sampled tokens, with each turn's reward on its last one (see `tokenRewards`). */
export function gae(options: Partial<GaeOptions> = {}): Credit {
  refuseUnknownOptions("gae", options, known);
  const settings = { ...defaults, ...options };
  const needs = { values: true };
  return {
    name: "gae",
    needs,
    assign(rows) {
      const groups = groupAttempts(rows, needs);
      const chains = groups.flatMap((attempts) => attempts.map((attempt) => attempt.rows));
      const rewards_B_T = tokenRewards(rows, groups);
      const advantages_B_T = advantagesOf(rows, chains, rewards_B_T, settings, settings.lambda);
      const { criticLambda = settings.lambda } = settings;
      const criticAdvantages_B_T =
        criticLambda === settings.lambda
          ? advantages_B_T
          : advantagesOf(rows, chains, rewards_B_T, settings, criticLambda);
      const returns_B_T = rows.map((row, b) => addValues(row, criticAdvantages_B_T[b]));
      if (settings.whiten) whitenMasked(advantages_B_T, rows);
      return creditResult(rows, groups, advantages_B_T, { returns_B_T });
    },
  };
}

function advantagesOf(
  rows: readonly CreditRow[],
  chains: readonly (readonly number[])[],
  rewards_B_T: readonly Float32Array[],
  { gamma, rows: mode }: GaeOptions,
  lambda: Lambda,
): Float32Array[] {
  const advantages_B_T = new Array<Float32Array>(rows.length);
  for (const chain of chains) {
    let next = { value: 0, advantage: 0 };
    for (let i = chain.length - 1; i >= 0; i--) {
      const b = chain[i];
      const { mask_T, values_T } = rows[b];
      const length = () => countSampled(rows, mode === "chained" ? chain : [b]);
      const advantages_T = tokenGae({
        rewards_T: rewards_B_T[b],
        values_T: values_T!,
        mask_T,
        gamma,
        lambda: typeof lambda === "number" ? lambda : lambda(length()),
        next,
      });
      advantages_B_T[b] = advantages_T;
      const first = mask_T.indexOf(1);
      if (first < 0) continue;
      next = { value: values_T![first], advantage: mode === "chained" ? advantages_T[first] : 0 };
    }
  }
  return advantages_B_T;
}

/** Returns: `A + V` where sampled, 0 elsewhere. */
function addValues({ mask_T, values_T }: CreditRow, advantages_T: Float32Array): Float32Array {
  const returns_T = new Float32Array(mask_T.length);
  for (let t = 0; t < mask_T.length; t++) if (mask_T[t] !== 0) returns_T[t] = advantages_T[t] + values_T![t];
  return returns_T;
}
