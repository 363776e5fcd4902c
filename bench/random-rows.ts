import type { Rng } from "../src/random.ts";

/** Rows of random tokens. Axes: `B` rows, `T` tokens of a row. */
export function randomTokens_B_T(rng: Rng, rows: number, length: number, vocabularySize: number): number[][] {
  return Array.from({ length: rows }, () => Array.from({ length }, () => rng.integer(vocabularySize)));
}

/** dLoss/dlogprob of about the size that a mean over all tokens gives; position 0 has none. */
export function randomDerivatives_B_T(rng: Rng, rows: number, length: number): number[][] {
  const scale = 1 / (rows * length);
  return Array.from({ length: rows }, () => Array.from({ length }, (_, t) => (t === 0 ? 0 : rng.normal() * scale)));
}
