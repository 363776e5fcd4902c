import { expect, test } from "vitest";
import { haveSameNumbers, readArithmetic } from "./arithmetic.ts";

test.each([
  ["1", 1, [1]],
  ["(3 + 5) * 2", 16, [3, 5, 2]],
  ["3 + 5 * 2", 13, [3, 5, 2]],
  ["8 - 3 - 2", 3, [8, 3, 2]],
  ["8 / 4 / 2", 1, [8, 4, 2]],
  ["-(2 - 5)*+4", 12, [2, 5, 4]],
  ["2--3", 5, [2, 3]],
  ["1.5*4", 6, [1.5, 4]],
  [".5*4", 2, [0.5, 4]],
  ["0*0.5+00", 0, [0, 0.5, 0]],
  ["((((7))))", 7, [7]],
  ["\t2\n*\n3 ", 6, [2, 3]],
] as const)("%s is %d", (text, value, numbers) => {
  expect(readArithmetic(text)).toEqual({ value, numbers });
});

test.each([
  "",
  " ",
  "()",
  "3 +",
  "* 3",
  "3 4",
  "(3 + 4",
  "3 + 4)",
  "(3 + 4]",
  "3 / 0",
  "3 / (2 - 2)",
  "2 ** 3",
  "7 // 2",
  "1..5",
  "1.2.3",
  "03+4",
  "3 + x",
  "3 + 4 = 7",
  "1e3",
  "3 × 4",
  "process.exit()",
  "(".repeat(999),
  "(".repeat(100_000),
  "-".repeat(999),
  `1${"0".repeat(400)}`,
])("nothing for %j", (text) => {
  expect(readArithmetic(text)).toBeUndefined();
});

test("numbers are compared with their counts, not their order", () => {
  expect(haveSameNumbers([3, 1, 3], [3, 3, 1])).toBe(true);
  expect(haveSameNumbers([3, 1, 1], [3, 3, 1])).toBe(false);
  expect(haveSameNumbers([10, 9], [9, 10])).toBe(true);
  expect(haveSameNumbers([1], [1, 1])).toBe(false);
  expect(haveSameNumbers([], [])).toBe(true);
});
