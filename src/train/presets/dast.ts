import type { CreditRow } from "../../credit/credit.ts";
import { keepAllGroups } from "../../credit/keep-all-groups.ts";
import { refuseUnknownOptions } from "../../known-options.ts";
import { dast } from "../../scorer/dast.ts";
import type { Algorithm } from "../algorithm.ts";

/**
 * UI-R1-E's length reward (DAST) on top of an algorithm: within each group, full scores are worth more the shorter they are
 * said, by how many attempts had the full score. Lengths are sampled tokens.
 */
export function withDast(algorithm: Algorithm, options: { fullScore?: number } = {}): Algorithm {
  refuseUnknownOptions("withDast", options, { fullScore: true });
  const { fullScore = 3 } = options;
  const { credit } = algorithm;
  return {
    ...algorithm,
    name: `${algorithm.name}-dast`,
    credit: {
      ...credit,
      name: `${credit.name}-dast`,
      assign: (rows) => credit.assign(lengthRewarded(rows, fullScore)),
    },
    // groups in which all have the full score still differ in length
    filter: () => keepAllGroups(),
  };
}

function lengthRewarded(rows: readonly CreditRow[], fullScore: number): CreditRow[] {
  const rewards = new Map<string, number>();
  for (const group of Map.groupBy(rows, (row) => row.group).values()) {
    const rollouts = [...Map.groupBy(group, ({ rollout }) => rollout).entries()];
    const lengths_G = rollouts.map(([, parts]) => parts.reduce((sum, { mask_T }) => sum + countOnes(mask_T), 0));
    const rewards_G = rollouts.map(([, [first]]) => first.reward);
    for (const [g, value] of dast(rewards_G, lengths_G, fullScore).entries()) rewards.set(rollouts[g][0], value);
  }
  return rows.map((row) => ({ ...row, reward: rewards.get(row.rollout)! }));
}

function countOnes(mask_T: Uint8Array): number {
  return mask_T.reduce((sum, value) => sum + value, 0);
}
