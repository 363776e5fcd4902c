import { expect, test } from "vitest";
import { codeRlReturn, codeRlTokenRewards, testsScore } from "./code-rl.ts";

test("the four returns", () => {
  const outcomes = ["compile-error", "runtime-error", "failed-test", "passed"] as const;
  expect(outcomes.map(codeRlReturn)).toEqual([-1, -0.6, -0.3, 1]);
});

test("token rewards are weighed by the critic, over the greedy program", () => {
  const rewards = codeRlTokenRewards([0.5, 1, 0], "passed", "failed-test");
  expect(rewards[0]).toBeCloseTo(0.65, 12);
  expect(rewards[1]).toBeCloseTo(1.3, 12);
  expect(codeRlTokenRewards([0.7], "passed", "passed")).toEqual([0]);
});

test("tests in shares or all at once", () => {
  expect(testsScore({ passed: 3, total: 4 }, "share")).toBe(0.75);
  expect(testsScore({ passed: 3, total: 4 }, "all")).toBe(0);
  expect(testsScore({ passed: 4, total: 4 }, "all")).toBe(1);
  expect(testsScore({ passed: 0, total: 0 }, "share")).toBe(0);
});
