import { describe, expect, test } from "vitest";
import { createRng } from "../random.ts";
import { coverage, type Setting, simulate } from "./fixtures/coverage.ts";
import { type Interval, meanInterval, pairedDifference, wilson } from "./interval.ts";
import { studentQuantile } from "./student.ts";
import { passHatKInterval, successInterval } from "./success-interval.ts";

test.each([
  [0.975, 1, 12.706204736],
  [0.975, 2, 4.30265273],
  [0.975, 5, 2.570581836],
  [0.975, 10, 2.228138852],
  [0.975, 30, 2.042272456],
  [0.975, 31, 2.039513446],
  [0.975, 60, 2.000297822],
  [0.975, 120, 1.979930405],
  [0.975, 1000, 1.962339081],
  [0.95, 10, 1.812461123],
  [0.995, 5, 4.032142984],
  [0.99, 20, 2.527977003],
  [0.9999, 3, 22.203742],
  [0.025, 10, -2.228138852],
  [0.5, 7, 0],
])("Student's quantile of %d with %d degrees of freedom", (p, degrees, expected) => {
  expect(studentQuantile(p, degrees)).toBeCloseTo(expected, expected > 20 ? 5 : 8);
});

test("Student's quantile goes to that of the normal distribution", () => {
  expect(studentQuantile(0.975, 1e7)).toBeCloseTo(1.959964, 6);
});

test("the mean of forty values has 39 degrees of freedom", () => {
  const values = Array.from({ length: 40 }, (_, i) => i % 2);
  const { high, mean } = meanInterval(values);
  expect(high - mean).toBeCloseTo(2.02269092 * Math.sqrt((0.25 * 40) / 39 / 40), 8);
});

describe("success over tasks with several attempts", () => {
  const same = (tasks: number, attempts: number, value: number) =>
    Array.from({ length: tasks }, () => new Array<number>(attempts).fill(value));

  test("all failed: tasks are counted, and the bound is Wilson's", () => {
    expect(successInterval(same(200, 4, 0))).toEqual(wilson(0, 200));
    expect(successInterval(same(200, 4, 1))).toEqual(wilson(200, 200));
    expect(passHatKInterval(same(50, 4, 0), 2)).toEqual(wilson(0, 50));
  });

  test("one attempt at each is Wilson's", () => {
    expect(successInterval([[1], [0], [1], [1]])).toEqual(wilson(3, 4));
  });

  test("attempts that are alike are worth no more than one, attempts that are not nearly as much as tasks", () => {
    const width = ({ low, high }: Interval) => high - low;
    const alike = Array.from({ length: 200 }, (_, task) => new Array<number>(8).fill(task % 2));
    expect(width(successInterval(alike))).toBeCloseTo(width(wilson(100, 200)), 6);
    const rng = createRng(1);
    const apart = Array.from({ length: 200 }, () => Array.from({ length: 8 }, () => rng.integer(2)));
    expect(width(successInterval(apart)) / width(wilson(800, 1600))).toBeLessThan(1.1);
  });

  test("no tasks at all", () => {
    expect(successInterval([])).toEqual({ mean: 0, low: 0, high: 1 });
  });
});

// all of p, tasks, attempts and correlations are in interval-coverage.slow.test.ts
test.each<Setting & { least: number }>([
  { p: 0.02, tasks: 50, attempts: 4, rho: 0.8, least: 0.91 },
  { p: 0.1, tasks: 200, attempts: 4, rho: 0.3, least: 0.93 },
  { p: 0.5, tasks: 100, attempts: 8, rho: 0, least: 0.93 },
  { p: 0.98, tasks: 200, attempts: 8, rho: 0.3, least: 0.92 },
])("95 % intervals cover: p $p, $tasks tasks, $attempts attempts, correlation $rho", ({ least, ...setting }) => {
  const share = coverage(500, setting.p, (rng) => successInterval(simulate(setting, rng)));
  expect(share).toBeGreaterThan(least);
  expect(share).toBeLessThan(0.985);
});

describe("paired differences", () => {
  const a = Array.from({ length: 100 }, (_, task) => (task < 40 ? 1 : 0));
  const b = Array.from({ length: 100 }, (_, task) => (task < 50 ? 1 : 0));

  test("are narrower than those of independent tasks, and the same each time", () => {
    const paired = pairedDifference(a, b);
    expect(paired.mean).toBeCloseTo(0.1, 12);
    expect(paired.low).toBeGreaterThan(0.03);
    expect(paired.high).toBeLessThan(0.17);
    expect(pairedDifference(a, b)).toEqual(paired);
    const few = { resamples: 101 };
    expect(pairedDifference(a, b, { ...few, seed: 1 })).toEqual(pairedDifference(a, b, { ...few, seed: 1 }));
    expect([2, 3, 4, 5].some((seed) => pairedDifference(a, b, { ...few, seed }).high !== paired.high)).toBe(true);
  });

  test("of tasks that all came out alike are not known to be none", () => {
    expect(pairedDifference(a, a)).toEqual({ mean: 0, low: -wilson(0, 100).high, high: wilson(0, 100).high });
  });

  test("need as many of the one as of the other", () => {
    expect(() => pairedDifference([1], [])).toThrow(/unpaired/);
  });
});
