import { describe, expect, test } from "vitest";
import { align, onGrid, smooth, stacked } from "./lines.ts";

describe("smoothing", () => {
  test("of nothing and by nothing changes nothing", () => {
    expect(smooth([], 0.9)).toEqual([]);
    expect(smooth([1, null, 3], 0)).toEqual([1, null, 3]);
  });

  test("begins at the first value and keeps gaps", () => {
    const smoothed = smooth([2, null, 2, 8], 0.5);
    expect(smoothed.slice(0, 3)).toEqual([2, null, 2]);
    // weights 1/8, 1/4 and 1/2, divided by their sum
    expect(smoothed[3]).toBeCloseTo((2 / 8 + 2 / 4 + 8 / 2) / (7 / 8), 12);
  });

  test("of a constant is the constant", () => {
    for (const value of smooth(new Array(50).fill(3), 0.98)) expect(value).toBeCloseTo(3, 12);
  });
});

test("lines of different steps share one axis, with gaps", () => {
  const columns = align([
    { steps: [10, 0], values: [5, 1] },
    { steps: [5, 10], values: [null, 7] },
  ]);
  expect(columns).toEqual([
    [0, 5, 10],
    [1, null, 5],
    [null, null, 7],
  ]);
  expect(align([])).toEqual([[]]);
});

describe("parts of a whole", () => {
  const series = (steps: number[], values: (number | null)[], counts = steps.map(() => 1)) => {
    return { run: "r", name: "n", steps, values, min: values, max: values, counts };
  };

  test("are 0 where they are absent", () => {
    expect(onGrid(series([0, 1, 2], [1, 1, 1]), [series([1], [0.5])])).toEqual([[0, 0.5, 0]]);
  });

  test("that join several steps are weighted by them", () => {
    const grid = series([3, 7], [1, 1], [4, 4]);
    expect(onGrid(grid, [series([2, 3, 7], [1, 0.5, null], [1, 2, 4])])).toEqual([[0.5, 0]]);
  });

  test("before the whole begins are left out", () => {
    expect(onGrid(series([5], [1]), [series([0, 5], [9, 0.25])])).toEqual([[0.25]]);
  });

  test("stack upwards, negative ones downwards", () => {
    expect(
      stacked([
        [1, -1],
        [2, -2],
        [-3, 4],
      ]),
    ).toEqual([
      [1, -1],
      [3, -3],
      [-3, 4],
    ]);
    expect(stacked([])).toEqual([]);
  });
});
