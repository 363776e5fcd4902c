import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { createRng } from "../random.ts";
import { mean as meanOf } from "../statistics.ts";
import { studentQuantile } from "./student.ts";

/** A mean and where it is likely to be. */
export interface Interval {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

const z = 1.959963984540054;

/**
 * 95 % for a share of `n` independent tries (Wilson): sensible also at 0, at 1 and for few tries. `n` need not be whole: tries that
 * are alike count as fewer.
 */
export function wilson(successes: number, n: number): Interval {
  if (n === 0) return { mean: 0, low: 0, high: 1 };
  const p = successes / n;
  const centre = (p + (z * z) / (2 * n)) / (1 + (z * z) / n);
  const half = (z / (1 + (z * z) / n)) * Math.sqrt((p * (1 - p)) / n + (z * z) / (4 * n * n));
  return { mean: p, low: Math.max(0, centre - half), high: Math.min(1, centre + half) };
}

/** 95 % for the mean of values such as one result per seed (Student's t). */
export function meanInterval(values: readonly number[]): Interval {
  const n = values.length;
  const mean = meanOf(values);
  if (n < 2) return { mean, low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY };
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (n - 1);
  const half = studentQuantile(0.975, n - 1) * Math.sqrt(variance / n);
  return { mean, low: mean - half, high: mean + half };
}

/**
 * 95 % for a mean over tasks that were each tried several times: attempts at one task are alike, so tasks are what is
 * counted, not attempts.
 */
export function clusteredInterval(values_P_G: readonly (readonly number[])[]): Interval {
  return meanInterval(values_P_G.map(meanOf));
}

export interface BootstrapOptions {
  readonly resamples: number;
  readonly seed: number;
}

const knownBootstrapOptions: KnownOptions<BootstrapOptions> = { resamples: true, seed: true };

/**
 * 95 % for the mean of `b - a` over tasks that both were measured on, by drawing tasks anew (percentiles). The same options give the
 * same interval. Shares that differ on no task leave nothing to draw from: a difference of up to Wilson's bound of none in
 * so many tasks was then missed.
 */
export function pairedDifference(
  a_P: readonly number[],
  b_P: readonly number[],
  options: Partial<BootstrapOptions> = {},
): Interval {
  refuseUnknownOptions("pairedDifference", options, knownBootstrapOptions);
  const { resamples, seed } = { resamples: 10_000, seed: 0, ...options };
  if (a_P.length !== b_P.length || a_P.length === 0) {
    const got = `${a_P.length} and ${b_P.length} values`;
    throw new LudusError("unpaired", { got, expected: "one of each for every task, and at least one task" });
  }
  const differences_P = b_P.map((value, p) => value - a_P[p]);
  const P = differences_P.length;
  const mean = meanOf(differences_P);
  if (differences_P.every((difference) => difference === differences_P[0])) {
    const { high: missed } = wilson(0, P);
    return { mean, low: mean - missed, high: mean + missed };
  }
  const rng = createRng(seed);
  const means = Float64Array.from({ length: resamples }, () => {
    let sum = 0;
    for (let draw = 0; draw < P; draw++) sum += differences_P[rng.integer(P)];
    return sum / P;
  }).sort();
  const at = (share: number) => means[Math.round(share * (resamples - 1))];
  return { mean, low: at(0.025), high: at(0.975) };
}
