/** A mean and where it is likely to be. */
export interface Interval {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

/** 95 % for a share of `n` independent tries (Wilson): sensible also at 0, at 1 and for few tries. */
export function wilson(successes: number, n: number): Interval {
  if (n === 0) return { mean: 0, low: 0, high: 1 };
  const z = 1.959964;
  const p = successes / n;
  const centre = (p + (z * z) / (2 * n)) / (1 + (z * z) / n);
  const half = (z / (1 + (z * z) / n)) * Math.sqrt((p * (1 - p)) / n + (z * z) / (4 * n * n));
  return { mean: p, low: Math.max(0, centre - half), high: Math.min(1, centre + half) };
}

// two-sided 95 % quantiles of Student's t for 1 to 30 degrees of freedom
const studentT = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131, 2.12, 2.11,
  2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/** 95 % for the mean of values such as one result per seed (Student's t). */
export function meanInterval(values: readonly number[]): Interval {
  const n = values.length;
  const mean = n === 0 ? 0 : values.reduce((a, b) => a + b, 0) / n;
  if (n < 2) return { mean, low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY };
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (n - 1);
  const half = (studentT[n - 2] ?? 1.96) * Math.sqrt(variance / n);
  return { mean, low: mean - half, high: mean + half };
}

/**
 * 95 % for a mean over tasks that were each tried several times: attempts at one task are alike, so tasks are what is
 * counted, not attempts.
 */
export function clusteredInterval(values_P_G: readonly (readonly number[])[]): Interval {
  return meanInterval(values_P_G.map((values_G) => values_G.reduce((a, b) => a + b, 0) / values_G.length));
}

/** 95 % for a share of successes over tasks, each tried once or several times: within 0 and 1. */
export function successInterval(success_P_G: readonly (readonly number[])[]): Interval {
  if (success_P_G.every(({ length }) => length === 1))
    return wilson(
      success_P_G.flat().reduce((a, b) => a + b, 0),
      success_P_G.length,
    );
  const { mean, low, high } = clusteredInterval(success_P_G);
  return { mean, low: Math.max(0, low), high: Math.min(1, high) };
}
