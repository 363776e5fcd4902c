import { type CreditAttempt, groupAttempts, penaltyOf } from "./attempts.ts";
import type { CreditRow } from "./credit.ts";
import { zerosLike } from "./spread.ts";
import { stepsOf } from "./steps.ts";

/**
 * Rewards where they are earned: each turn's on its last sampled token, and what remains of the rollout's total on the last
 * sampled token of all (see `stepsOf`). Added up over the rows of a rollout they are its total.
 */
export function tokenRewards(
  rows: readonly CreditRow[],
  groups: readonly (readonly CreditAttempt[])[] = groupAttempts(rows),
): Float32Array<ArrayBuffer>[] {
  const rewards_B_T = zerosLike(rows);
  for (const attempts of groups) {
    for (const attempt of attempts) {
      for (const { row, start, end, reward } of stepsOf(rows, attempt)) {
        const { penalties_T, mask_T } = rows[row];
        if (penalties_T !== undefined) {
          for (let t = start; t < end; t++) if (mask_T[t] !== 0) rewards_B_T[row][t] = -penalties_T[t];
        }
        rewards_B_T[row][end - 1] += reward + penaltyOf(rows[row], start, end);
      }
    }
  }
  return rewards_B_T;
}
