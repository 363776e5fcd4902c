import { expect, test } from "vitest";
import { wilson } from "../eval/index.ts";
import { differenceInterval } from "./compare-runs.ts";

// R. G. Newcombe, Statistics in Medicine 17 (1998), table II, method 10
test.each([
  [56, 70, 48, 80, 0.0524, 0.3339],
  [9, 10, 3, 10, 0.1705, 0.809],
  [10, 10, 0, 20, 0.6791, 1],
])("%d of %d against %d of %d", (a, m, b, n, low, high) => {
  const difference = differenceInterval(wilson(b, n), wilson(a, m));
  expect(difference.mean).toBeCloseTo(a / m - b / n, 12);
  expect(difference.low).toBeCloseTo(low, 4);
  expect(difference.high).toBeCloseTo(high, 4);
});
