import { LudusError } from "../errors.ts";
import { type Interval, meanInterval } from "../eval/interval.ts";
import type { Comparison, Recipe } from "./recipe.ts";

/** What one seed gave. */
export interface Trial {
  readonly seed: number;
  /** By arm, then by measure. */
  readonly arms: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly curves: Readonly<Record<string, Readonly<Record<string, readonly number[]>>>>;
}

export interface RecipeResult {
  readonly system: string;
  readonly title: string;
  readonly claim: string;
  readonly measures: Readonly<Record<string, string>>;
  readonly trials: readonly Trial[];
  readonly comparisons: readonly ComparisonResult[];
  /** Whether the claim, which is the first comparison, does. */
  readonly holds: boolean;
  readonly seconds: number;
}

export interface ComparisonResult extends Comparison {
  readonly methodInterval: Interval;
  readonly baselineInterval: Interval;
  /** What the method has more than the baseline, seed by seed: both start from the same weights, so this is the finer look. */
  readonly difference: Interval;
  readonly holds: boolean;
}

export function summarise(recipe: Recipe, trials: readonly Trial[], seconds: number): RecipeResult {
  const { system, title, claim, measures } = recipe;
  const comparisons = recipe.compare.map((comparison) => compareArms(comparison, trials));
  return { system, title, claim, measures, trials, comparisons, holds: comparisons[0]?.holds ?? false, seconds };
}

export function compareArms(comparison: Comparison, trials: readonly Trial[]): ComparisonResult {
  const { method, baseline, measure, want } = comparison;
  const methodInterval = intervalOf(trials, method, measure);
  const baselineInterval = intervalOf(trials, baseline, measure);
  const isMore = methodInterval.low > baselineInterval.high;
  const isLess = methodInterval.high < baselineInterval.low;
  const difference = meanInterval(trials.map(({ arms }) => arms[method][measure] - arms[baseline][measure]));
  return { ...comparison, methodInterval, baselineInterval, difference, holds: want === "more" ? isMore : isLess };
}

/** Mean over seeds with its 95 % interval. */
export function intervalOf(trials: readonly Trial[], arm: string, measure: string): Interval {
  const values = trials.map(({ arms }) => arms[arm]?.[measure]).filter((value) => value !== undefined);
  if (values.length < trials.length) {
    throw new LudusError("not-measured", {
      got: `${measure} of ${arm} for ${values.length} of ${trials.length} seeds`,
      expected: "a comparison between arms and measures that the recipe measures for every seed",
    });
  }
  return meanInterval(values);
}

/** The one object that `ludus recipe run --json` prints last. */
export function shortResult({ system, claim, comparisons, holds, trials, seconds }: RecipeResult) {
  const { method, baseline, measure, methodInterval, baselineInterval } = comparisons[0];
  const side = (name: string, interval: Interval) => ({ name, measure, ...boundsOf(interval) });
  return {
    system,
    claim,
    baseline: side(baseline, baselineInterval),
    method: side(method, methodInterval),
    holds,
    difference: boundsOf(comparisons[0].difference),
    seeds: trials.length,
    seconds: Math.round(seconds),
    also: comparisons.slice(1).map(({ method, baseline, measure, want, difference, holds }) => ({
      method,
      baseline,
      measure,
      want,
      difference: boundsOf(difference),
      holds,
    })),
  };
}

function boundsOf({ mean, low, high }: Interval) {
  return { mean: rounded(mean), low: rounded(low), high: rounded(high) };
}

/** Infinite bounds, of a single seed, are null in JSON. */
function rounded(value: number): number {
  return Math.round(value * 1e4) / 1e4;
}

/** Rows of cells: a heading, then each arm with the mean and interval of each measure. */
export function resultTable({ measures, trials }: RecipeResult): string[][] {
  const arms = [...new Set(trials.flatMap((trial) => Object.keys(trial.arms)))];
  const keys = Object.keys(measures);
  return [
    ["", ...keys.map((key) => measures[key])],
    ...arms.map((arm) => [arm, ...keys.map((key) => cell(trials, arm, key))]),
  ];
}

function cell(trials: readonly Trial[], arm: string, measure: string): string {
  if (trials.some(({ arms }) => arms[arm]?.[measure] === undefined)) return "";
  const { mean, low, high } = intervalOf(trials, arm, measure);
  const digits = Math.abs(mean) >= 100 ? 0 : Math.abs(mean) >= 10 ? 1 : 2;
  const text = (value: number) => value.toFixed(digits);
  return trials.length < 2 ? text(mean) : `${text(mean)} [${text(low)}, ${text(high)}]`;
}

/** A comparison in words, such as `masked 0.85 against unmasked 0.22 (success, more): holds; within seeds 0.63 [0.5, 0.76]`. */
export function comparisonText(result: ComparisonResult): string {
  const { method, baseline, measure, want, methodInterval, baselineInterval, difference, holds } = result;
  const [a, b] = [methodInterval.mean.toFixed(2), baselineInterval.mean.toFixed(2)];
  const [less, more] = [difference.low.toFixed(2), difference.high.toFixed(2)];
  const within = Number.isFinite(difference.low)
    ? `; within seeds ${difference.mean.toFixed(2)} [${less}, ${more}]`
    : "";
  return `${method} ${a} against ${baseline} ${b} (${measure}, ${want}): ${holds ? "holds" : "does not hold"}${within}`;
}
