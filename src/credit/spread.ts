import type { CreditAttempt } from "./attempts.ts";
import type { CreditRow } from "./credit.ts";

/** Zeros of the rows' shapes. */
export function zerosLike(rows: readonly CreditRow[]): Float32Array<ArrayBuffer>[] {
  return rows.map(({ mask_T }) => new Float32Array(mask_T.length));
}

/** Writes `value` where the mask is 1, from `start` to `end - 1`. */
export function fillSampled(
  out_T: Float32Array,
  mask_T: Uint8Array,
  value: number,
  start = 0,
  end = mask_T.length,
): void {
  for (let t = start; t < end; t++) if (mask_T[t] !== 0) out_T[t] = value;
}

/** One number per attempt, computed group by group, to all sampled tokens of its rows. */
export function spreadOverAttempts(
  rows: readonly CreditRow[],
  groups: readonly (readonly CreditAttempt[])[],
  compute: (rewards_G: Float64Array, attempts: readonly CreditAttempt[]) => ArrayLike<number>,
): Float32Array<ArrayBuffer>[] {
  const out_B_T = zerosLike(rows);
  for (const attempts of groups) {
    const rewards_G = Float64Array.from(attempts, ({ net }) => net);
    const values_G = compute(rewards_G, attempts);
    for (let g = 0; g < attempts.length; g++) {
      for (const b of attempts[g].rows) fillSampled(out_B_T[b], rows[b].mask_T, values_G[g]);
    }
  }
  return out_B_T;
}
