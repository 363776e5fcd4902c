import { expect, test } from "vitest";
import { absoluteZeroProposer, expectedChallengerReward, rZeroChallenger, ssrInjector } from "./challenger.ts";

const shares = Array.from({ length: 9 }, (_, k) => k / 8);
const paper = (p: number) => rZeroChallenger(p, "paper");

test.each([
  ["R-Zero, paper", paper, [0, 0.25, 0.5, 0.75, 1, 0.75, 0.5, 0.25, 0]],
  ["R-Zero, code", rZeroChallenger, [0, 0.125, 0.25, 0.375, 0.5, 0.375, 0.25, 0.125, 0]],
  ["Absolute Zero", absoluteZeroProposer, [-0.5, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125, -0.5]],
  ["SSR", ssrInjector, [-0.8, 0.775, 0.55, 0.325, 0.1, -0.125, -0.35, -0.575, -0.8]],
] as const)("%s at k of 8", (_, curve, expected) => {
  for (const [k, p] of shares.entries()) expect((curve as (p: number) => number)(p)).toBeCloseTo(expected[k], 12);
});

/** The success rate at which a curve pays most on average. */
function best(curve: (p: number) => number) {
  const grid = Array.from({ length: 1001 }, (_, i) => i / 1000);
  return grid.reduce((a, b) => (expectedChallengerReward(curve, b, 8) > expectedChallengerReward(curve, a, 8) ? b : a));
}

test("on average over eight attempts R-Zero wants one half, SSR a quarter, Absolute Zero less", () => {
  expect(best(rZeroChallenger)).toBeCloseTo(0.5, 3);
  expect(best(ssrInjector)).toBeCloseTo(0.257, 3);
  expect(expectedChallengerReward(ssrInjector, 0.257, 8)).toBeCloseTo(0.37, 3);
  expect(best(absoluteZeroProposer)).toBeLessThan(0.3);
});

test("what is no share is refused", () => {
  for (const p of [-0.1, 1.1, Number.NaN]) {
    for (const curve of [rZeroChallenger, absoluteZeroProposer, ssrInjector]) expect(() => curve(p)).toThrow(/0 to 1/);
  }
});
