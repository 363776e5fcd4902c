import { expect, test } from "vitest";
import { LudusError } from "../errors.ts";
import { dast } from "./dast.ts";

test("the golden group: budget 80", () => {
  const scores = dast([3, 3, 1, 2], [40, 80, 100, 60]);
  [3.75, 3.5, 0.9, 1.675].forEach((expected, g) => {
    expect(scores[g]).toBeCloseTo(expected, 12);
  });
});

test("without a full score the budget is the longest length; empty texts divide nothing by zero", () => {
  expect(dast([1, 1], [50, 100])[1]).toBeCloseTo(0.9, 12);
  expect(dast([1, 1], [50, 100])[0]).toBeCloseTo(1 - 0.55, 12);
  expect(dast([3, 0], [0, 0])).toEqual([3.5, -0.1]);
  expect(dast([], [])).toEqual([]);
});

test("every reward needs its length", () => expect(() => dast([1], [])).toThrow(LudusError));
