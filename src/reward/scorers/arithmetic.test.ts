import { expect, test } from "vitest";
import { createRng } from "../../random.ts";
import { evaluateArithmetic } from "./arithmetic.ts";

test.each([
  ["1 + 2 * 3", 7],
  ["(1 + 2) * 3", 9],
  ["8 / 4 / 2", 1],
  ["10 - 3 - 2", 5],
  ["-(2 + 3) * --4", -20],
  ["1.5 * 2", 3],
  ["3 / 2", 1.5],
])("%s = %d", (text, value) => expect(evaluateArithmetic(text)).toBe(value));

test.each([
  "",
  "1 +",
  "(1",
  "1)",
  "1 2",
  "2 ** 3",
  "7 // 2",
  "1 / 0",
  "1 / (1 / 0)",
  "x",
  "(1)(2)",
  "05",
  "process.exit()",
  "1e5",
])("%j has no value", (text) => expect(evaluateArithmetic(text)).toBeNull());

test("no text throws", () => {
  const rng = createRng(13);
  const pieces = ["1", "23", "+", "-", "*", "/", "(", ")", " ", "."];
  for (let count = 0; count < 3000; count++) {
    evaluateArithmetic(Array.from({ length: rng.integer(15) }, () => pieces[rng.integer(pieces.length)]).join(""));
  }
  expect(evaluateArithmetic("(".repeat(100_000))).toBeNull();
  expect(evaluateArithmetic(`${"-".repeat(100_000)}1`)).toBeNull();
});
