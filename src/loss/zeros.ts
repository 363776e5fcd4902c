import type { LossRow } from "./loss.ts";

/** Derivatives of a loss that does not depend on the array. */
export function zerosOf(rows: readonly LossRow[]): Float32Array[] {
  return rows.map((row) => new Float32Array(row.mask_T.length));
}
