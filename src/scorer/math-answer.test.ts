import { describe, expect, test } from "vitest";
import { createRng } from "../random.ts";
import { mathEqual, mathScore, reftScore } from "./math-answer.ts";

describe("equal", () => {
  test.each([
    ["\\frac{1}{2}", "0.5"],
    ["\\dfrac12", "\\tfrac{1}{2}"],
    ["\\frac1{72}", "\\frac{1}{72}"],
    ["1/2", ".50"],
    ["-\\frac{3}{4}", "-0.75"],
    ["\\frac{-3}{4}", "-\\frac{3}{4}"],
    ["1\\frac{1}{2}", "\\frac{3}{2}"],
    ["1,234,567", "1234567"],
    ["1{,}000", "1000"],
    ["$\\$5.00$", "5"],
    ["50\\%", "50"],
    ["90^\\circ", "90^{\\circ}"],
    ["12\\text{ cm}^2", "12"],
    ["12 square feet", "12"],
    ["\\text{Monday}", "Monday"],
    ["\\left( 1, \\, 2 \\right)", "(1,2)"],
    ["x = 3", "3"],
    ["\\sqrt3", "\\sqrt{3}"],
    ["\\{1, 2, 3\\}", "\\{3,2,1.0\\}"],
    ["3, 4", "4,3"],
    ["(0, \\frac12]", "(0,0.5]"],
    ["2.5\\times 10^{3}", "2500"],
    ["x \\le 5", "x\\leq 5"],
    ["3\\pi", "3π"],
    ["7.", "7"],
  ])("%s and %s", (a, b) => {
    expect(mathEqual(a, b)).toBe(true);
    expect(mathEqual(b, a)).toBe(true);
  });
});

describe("not equal", () => {
  test.each([
    ["0.333", "\\frac{1}{3}"],
    ["(1,2)", "(2,1)"],
    ["(1,2)", "[1,2]"],
    ["\\{1,1\\}", "\\{1,2\\}"],
    ["1,000", "1,00"],
    ["", ""],
    ["1", "1x"],
    ["\\frac{1}{0}", "\\frac{2}{0}"],
    ["10", "100"],
    ["1000", "1,0"],
  ])("%s and %s", (a, b) => expect(mathEqual(a, b)).toBe(false));
});

test("scores", () => {
  expect(mathScore("so \\boxed{0.5}", "\\frac12")).toBe(1);
  expect(mathScore("so 0.5", "\\frac12")).toBe(0);
  expect(mathScore("\\boxed{3}", "the gold is \\boxed{3}")).toBe(1);
  expect([reftScore("\\boxed{4}", "4"), reftScore("\\boxed{5}", "4"), reftScore("4", "4")]).toEqual([1, 0.1, 0]);
  expect(reftScore("The answer is: 4", "4", (text) => text.split(": ")[1] ?? null)).toBe(1);
});

test("a very long answer is compared as it is", () => {
  const deep = `${"\\{".repeat(50_000)}1${"\\}".repeat(50_000)}`;
  expect(mathEqual(deep, deep)).toBe(true);
  expect(mathEqual(deep, "1")).toBe(false);
});

test("nothing throws, and an answer that is not empty equals itself", () => {
  const rng = createRng(5);
  const pieces = [
    "\\frac",
    "{",
    "}",
    "1",
    "2",
    ",",
    "(",
    "]",
    "\\{",
    "\\}",
    "\\text{",
    ".",
    "0",
    "-",
    "=",
    " ",
    "\\boxed{",
    "$",
    "^",
  ];
  for (let count = 0; count < 3000; count++) {
    const text = Array.from({ length: rng.integer(12) }, () => pieces[rng.integer(pieces.length)]).join("");
    expect([0, 1]).toContain(mathScore(text, text));
    expect(typeof mathEqual(text, `${text} `)).toBe("boolean");
  }
});
