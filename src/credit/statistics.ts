/** `bessel` divides by one less than the count (verl, TRL, OpenRLHF), `population` by the count (rLLM). */
export type StdKind = "bessel" | "population";

export function meanOf(values: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i];
  return values.length === 0 ? 0 : sum / values.length;
}

/** Standard deviation; exactly 0 of equal values, of one and of none. */
export function stdOf(values: ArrayLike<number>, kind: StdKind = "bessel"): number {
  if (isUniform(values)) return 0;
  const mean = meanOf(values);
  let squares = 0;
  for (let i = 0; i < values.length; i++) squares += (values[i] - mean) ** 2;
  return Math.sqrt(squares / (kind === "bessel" ? values.length - 1 : values.length));
}

/** Whether there is nothing to compare: all equal but for rounding, or fewer than two. */
export function isUniform(values: ArrayLike<number>): boolean {
  for (let i = 1; i < values.length; i++) if (Math.abs(values[i] - values[0]) > roundingError) return false;
  return true;
}

const roundingError = 1e-9;

interface Masked {
  readonly mask_T: Uint8Array;
}

/** In place: mean 0 and (Bessel) variance 1 over the masked numbers of all rows together; the others stay as they are. */
export function whitenMasked(values_B_T: readonly Float32Array[], rows: readonly Masked[]): void {
  const { count, mean, squares } = maskedMoments(values_B_T, rows);
  // the variance of one number is not known: it is centred and left at that
  const inverse = count > 1 ? 1 / Math.sqrt(squares / (count - 1) + 1e-8) : 1;
  for (let b = 0; b < values_B_T.length; b++) {
    const values_T = values_B_T[b];
    const { mask_T } = rows[b];
    for (let t = 0; t < values_T.length; t++) {
      if (mask_T[t] !== 0) values_T[t] = (values_T[t] - mean) * inverse;
    }
  }
}

// Two passes: sums of squares lose what matters when the mean is large.
function maskedMoments(values_B_T: readonly Float32Array[], rows: readonly Masked[]) {
  let count = 0;
  let sum = 0;
  for (let b = 0; b < values_B_T.length; b++) {
    const values_T = values_B_T[b];
    const { mask_T } = rows[b];
    for (let t = 0; t < values_T.length; t++) {
      if (mask_T[t] === 0) continue;
      count++;
      sum += values_T[t];
    }
  }
  const mean = count === 0 ? 0 : sum / count;
  let squares = 0;
  for (let b = 0; b < values_B_T.length; b++) {
    const values_T = values_B_T[b];
    const { mask_T } = rows[b];
    for (let t = 0; t < values_T.length; t++) {
      if (mask_T[t] !== 0) squares += (values_T[t] - mean) ** 2;
    }
  }
  return { count, mean, squares };
}
