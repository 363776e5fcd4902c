import { defined } from "../defined.ts";
import type { CreditAttempt } from "./attempts.ts";
import type { CreditResult, CreditRow } from "./credit.ts";
import { isUniform, stdOf } from "./statistics.ts";

interface Extra {
  readonly returns_B_T?: readonly Float32Array[];
  readonly metrics?: Readonly<Record<string, number>>;
}

/** Adds the metrics that every credit scheme reports. */
export function creditResult(
  rows: readonly CreditRow[],
  groups: readonly (readonly CreditAttempt[])[],
  advantages_B_T: readonly Float32Array[],
  { returns_B_T, metrics }: Extra = {},
): CreditResult {
  let deviations = 0;
  let uniform = 0;
  for (const attempts of groups) {
    const rewards_G = attempts.map(({ reward }) => reward);
    deviations += stdOf(rewards_G);
    if (isUniform(rewards_G)) uniform++;
  }
  const groupCount = Math.max(1, groups.length);
  return {
    advantages_B_T,
    ...defined({ returns_B_T }),
    metrics: {
      "credit/group-std": deviations / groupCount,
      "credit/uniform-groups": uniform / groupCount,
      "credit/absolute-advantage": absoluteMean(rows, advantages_B_T),
      ...metrics,
    },
  };
}

/** Mean over sampled tokens. */
function absoluteMean(rows: readonly CreditRow[], advantages_B_T: readonly Float32Array[]): number {
  let sum = 0;
  let count = 0;
  for (let b = 0; b < rows.length; b++) {
    const mask_T = rows[b].mask_T;
    const advantages_T = advantages_B_T[b];
    for (let t = 0; t < mask_T.length; t++) {
      if (mask_T[t] === 0) continue;
      sum += Math.abs(advantages_T[t]);
      count++;
    }
  }
  return count === 0 ? 0 : sum / count;
}
