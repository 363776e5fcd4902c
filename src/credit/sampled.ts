import type { CreditAttempt } from "./attempts.ts";
import type { CreditRow } from "./credit.ts";

/** How many tokens of a rollout were sampled. */
export function countSampled(rows: readonly CreditRow[], chain: CreditAttempt["rows"]): number {
  let count = 0;
  for (const b of chain) {
    const { mask_T } = rows[b];
    for (let t = 0; t < mask_T.length; t++) if (mask_T[t] !== 0) count++;
  }
  return count;
}

/** The sampled tokens' numbers of the rows in `chain`, one after another, without what lies between. */
export function gatherSampled(
  rows: readonly CreditRow[],
  chain: CreditAttempt["rows"],
  arrayOf: (b: number) => ArrayLike<number>,
): Float64Array<ArrayBuffer> {
  const gathered_S = new Float64Array(countSampled(rows, chain));
  let s = 0;
  for (const b of chain) {
    const { mask_T } = rows[b];
    const array_T = arrayOf(b);
    for (let t = 0; t < mask_T.length; t++) if (mask_T[t] !== 0) gathered_S[s++] = array_T[t];
  }
  return gathered_S;
}

/** The way back: writes gathered numbers to where they came from. */
export function scatterSampled(
  rows: readonly CreditRow[],
  chain: CreditAttempt["rows"],
  gathered_S: ArrayLike<number>,
  out_B_T: readonly Float32Array[],
): void {
  let s = 0;
  for (const b of chain) {
    const { mask_T } = rows[b];
    const out_T = out_B_T[b];
    for (let t = 0; t < mask_T.length; t++) if (mask_T[t] !== 0) out_T[t] = gathered_S[s++];
  }
}
