import { LudusError } from "../errors.ts";
import type { TrainRow } from "../schema/train-batch.ts";

/** How many of the tokens `start` to `end - 1` have mask 1. */
export function maskedTokens(mask_T: Uint8Array, start = 0, end = mask_T.length): number {
  let count = 0;
  for (let t = start; t < end; t++) if (mask_T[t] !== 0) count++;
  return count;
}

/** The last of the tokens `start` to `end - 1` that has mask 1; -1 where none has. */
export function lastMasked(mask_T: Uint8Array, start = 0, end = mask_T.length): number {
  for (let t = end - 1; t >= start; t--) if (mask_T[t] !== 0) return t;
  return -1;
}

/** An array that a loss needs and a row may lack. */
export function present(array_T: Float32Array | undefined, name: string, row: TrainRow): Float32Array {
  if (array_T !== undefined) return array_T;
  const hint = "What a loss needs is in its `needs`; compute it before.";
  throw new LudusError("missing-input", { got: `no ${name} in row ${row.id}`, expected: "it in every row", hint });
}
