import { metric } from "../../schema/metric-names.ts";
import { mean, sum } from "../../statistics.ts";
import type { RunView, SeriesPoint } from "./detector.ts";

/** How a metric went: the mean of its first and of its last quarter, which hold 3 to 20 points. */
export interface Trend {
  readonly first: number;
  readonly last: number;
  readonly change: number;
  /** The change in standard errors of the two means; 0 when nothing changed. */
  readonly significance: number;
  /** The last step. */
  readonly step: number;
  readonly points: number;
}

const quarter = { least: 3, most: 20 };

function quarterOf({ length }: readonly SeriesPoint[]): number {
  return Math.min(quarter.most, Math.max(quarter.least, Math.floor(length / 4)));
}

/** Undefined with fewer than two quarters of the least size: nothing can be said yet. */
export function trendOf(points: readonly SeriesPoint[]): Trend | undefined {
  if (points.length < 2 * quarter.least) return undefined;
  const size = quarterOf(points);
  const values = points.map(({ value }) => value);
  const [head, tail] = [values.slice(0, size), values.slice(-size)];
  const [first, last] = [mean(head), mean(tail)];
  const error = Math.sqrt((variance(head) + variance(tail)) / size);
  const change = last - first;
  const significance = change === 0 ? 0 : change / Math.max(error, 1e-12);
  return { first, last, change, significance, step: points.at(-1)!.step, points: points.length };
}

/** A metric while learning from experience, numbers that are none left out: imitation before it is another matter. */
export function learningPoints(view: RunView, name: string): readonly SeriesPoint[] {
  const start = view.series(metric.reward)[0]?.step;
  if (start === undefined) return [];
  return view.series(name).filter(({ step, value }) => step >= start && Number.isFinite(value));
}

/** Divergence from the reference, whether the penalty is in the loss or in the reward. */
export function referencePoints(view: RunView): readonly SeriesPoint[] {
  return learningPoints(view, metric.klReference);
}

/** Several metrics that are shares of one whole added up; one that is absent at a step was 0 there. */
export function summedPoints(view: RunView, names: readonly string[]): readonly SeriesPoint[] {
  const byStep = names.map((name) => new Map(learningPoints(view, name).map(({ step, value }) => [step, value])));
  return learningPoints(view, metric.reward).map(({ step }) => {
    const value = sum(byStep.map((values) => values.get(step) ?? 0));
    return { step, value, max: value };
  });
}

/** Mean of the last quarter, or of what there is. */
export function recentMean(points: readonly SeriesPoint[]): number | undefined {
  if (points.length === 0) return undefined;
  return mean(points.slice(-quarterOf(points)).map(({ value }) => value));
}

/**
 * The step from which on a metric stayed beyond a limit. Neighbours are averaged, so that one odd step hides nothing; where the
 * metric crosses the limit to the end, it is the first step of the last quarter.
 */
export function beganAt(points: readonly SeriesPoint[], isBeyond: (value: number) => boolean): number {
  const smooth = points.map((_, i) => mean(points.slice(Math.max(0, i - 1), i + 2).map(({ value }) => value)));
  const began = smooth.findLastIndex((value) => !isBeyond(value)) + 1;
  return (points[began] ?? points.at(-quarterOf(points)) ?? points[0]).step;
}

/** Exponential moving averages, the first of them that of the first value. */
export function movingAverages(points: readonly SeriesPoint[], share: number): number[] {
  let average = points[0]?.value ?? 0;
  return points.map(({ value }) => {
    average += share * (value - average);
    return average;
  });
}

const averaging = { share: 0.2, beginning: 5 };

/**
 * Exponential moving averages of a metric: the largest of its first 5 points, and the last. Unlike quarters they tell a fall in the
 * first steps from a low beginning.
 */
export function averagedEnds(points: readonly SeriesPoint[]): { first: number; last: number } | undefined {
  if (points.length < 2 * averaging.beginning) return undefined;
  const averages = movingAverages(points, averaging.share);
  return { first: Math.max(...averages.slice(0, averaging.beginning)), last: averages.at(-1)! };
}

/** Change per step of the straight line through the points (least squares). */
export function slopeOf(points: readonly SeriesPoint[]): number {
  const [centreStep, centre] = [mean(points.map(({ step }) => step)), mean(points.map(({ value }) => value))];
  const spread = sum(points.map(({ step }) => (step - centreStep) ** 2));
  if (spread === 0) return 0;
  return sum(points.map(({ step, value }) => (step - centreStep) * (value - centre))) / spread;
}

/** Unbiased; 0 of fewer than two values. */
export function variance(values: readonly number[]): number {
  const centre = mean(values);
  return values.length < 2 ? 0 : sum(values.map((value) => (value - centre) ** 2)) / (values.length - 1);
}

/** The value below which a share of all values lies; of an even number's middle the lower one. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
}

/** For messages: three digits that matter. */
export function short(value: number): string {
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(3)));
}

export function percent(share: number): string {
  return `${short(100 * share)} %`;
}
