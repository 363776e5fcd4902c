import type { LossRow } from "./loss.ts";
import { present } from "./tokens.ts";

/** log π - log π_reference of the tokens `start` to `end - 1` with mask 1, added up. */
export function referenceLogRatio(row: LossRow, start = 0, end = row.mask_T.length): number {
  const reference_T = present(row.referenceLogprobs_T, "referenceLogprobs_T", row);
  let sum = 0;
  for (let t = start; t < end; t++) if (row.mask_T[t] !== 0) sum += row.logprobs_T[t] - reference_T[t];
  return sum;
}

/** Gives each of these tokens with mask 1 the same derivative: that of a function of their sum. */
export function spread(
  each: number,
  mask_T: Uint8Array,
  derivatives_T: Float32Array,
  start = 0,
  end = mask_T.length,
): void {
  for (let t = start; t < end; t++) if (mask_T[t] !== 0) derivatives_T[t] += each;
}
