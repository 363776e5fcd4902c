import { expect, test } from "vitest";
import { lastBoxed } from "./boxed.ts";

test("the last box counts, braces inside it balance", () => {
  expect(lastBoxed("\\boxed{1} so \\boxed{\\frac{1}{2}}.")).toBe("\\frac{1}{2}");
  expect(lastBoxed("$\\fbox{x^{2}}$")).toBe("x^{2}");
  expect(lastBoxed("\\boxed {7}")).toBe("7");
  expect(lastBoxed("so $\\boxed 5$ it is")).toBe("5");
  expect(lastBoxed("\\boxed{}")).toBe("");
});

test("no box, or one that is cut off, holds nothing", () => {
  expect(lastBoxed("5")).toBeNull();
  expect(lastBoxed("\\boxed{1} then \\boxed{2")).toBeNull();
  expect(lastBoxed("\\boxedx")).toBeNull();
});
