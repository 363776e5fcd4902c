import { expect, test } from "vitest";
import { codeRlReturn, testsScore } from "./code-rl.ts";

test("the four returns", () => {
  const outcomes = ["compile-error", "runtime-error", "failed-test", "passed"] as const;
  expect(outcomes.map(codeRlReturn)).toEqual([-1, -0.6, -0.3, 1]);
});

test("tests in shares or all at once", () => {
  expect(testsScore({ passed: 3, total: 4 }, "share")).toBe(0.75);
  expect(testsScore({ passed: 3, total: 4 }, "all")).toBe(0);
  expect(testsScore({ passed: 4, total: 4 }, "all")).toBe(1);
  expect(testsScore({ passed: 0, total: 0 }, "share")).toBe(0);
});
