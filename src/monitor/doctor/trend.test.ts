import { describe, expect, test } from "vitest";
import { averagedEnds, movingAverages, quantile, recentMean, slopeOf, trendOf, variance } from "./trend.ts";

const points = (values: readonly number[]) => values.map((value, step) => ({ step, value, max: value }));

describe("a trend", () => {
  test("compares the means of the first and the last quarter", () => {
    const trend = trendOf(points([1, 2, 3, 9, 9, 9, 9, 9, 9, 5, 6, 7]))!;
    expect(trend).toMatchObject({ first: 2, last: 6, change: 4, step: 11, points: 12 });
    // both quarters have variance 1, so the standard error is √(2/3)
    expect(trend.significance).toBeCloseTo(4 / Math.sqrt(2 / 3), 12);
  });

  test("of fewer than six points is none", () => expect(trendOf(points([1, 2, 3, 4, 5]))).toBeUndefined());
  test("without change has no significance", () => expect(trendOf(points([1, 1, 1, 1, 1, 1]))?.significance).toBe(0));
});

test("moving averages begin with the first value", () => {
  expect(movingAverages(points([1, 2, 2]), 0.5)).toEqual([1, 1.5, 1.75]);
  expect(averagedEnds(points([4, 0, 0, 0, 0, 0, 0, 0, 0, 0]))).toEqual({
    first: 4,
    last: expect.closeTo(4 * 0.8 ** 9, 12),
  });
  expect(averagedEnds(points([1, 2]))).toBeUndefined();
});

test("the slope is that of the least squares line", () => {
  expect(slopeOf(points([1, 3, 5, 7]))).toBeCloseTo(2, 12);
  expect(slopeOf(points([0, 1, 0]))).toBeCloseTo(0, 12);
  expect(slopeOf(points([5]))).toBe(0);
});

test("small statistics", () => {
  expect(variance([1, 2, 3, 4])).toBeCloseTo(5 / 3, 12);
  expect(variance([1])).toBe(0);
  expect(quantile([3, 1, 2, 4], 0.5)).toBe(2);
  expect(quantile([3, 1, 2], 1)).toBe(3);
  expect(recentMean(points([9, 9, 9, 1, 2, 3]))).toBe(2);
  expect(recentMean([])).toBeUndefined();
});
