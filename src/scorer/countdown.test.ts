import { expect, test } from "vitest";
import { type Countdown, countdownScore, tinyZeroScore } from "./countdown.ts";
import { randomTagTexts } from "./testing/random-tag-texts.ts";

const task = { numbers: [3, 7, 25], target: 46 };
const answer = (equation: string) => `<think>hm</think>\n<answer>${equation}</answer>`;

test("TinyZero: nothing, something, right", () => {
  expect(tinyZeroScore("25 + 3 * 7", task)).toBe(0);
  expect(tinyZeroScore(answer("25 + 3 * 7"), task)).toBe(1);
  expect(tinyZeroScore(answer("25 + 3 + 7"), task)).toBe(0.1);
  expect(tinyZeroScore(answer("46"), task)).toBe(0.1);
  expect(tinyZeroScore(answer("25 + 3 * 7 = 46"), task)).toBe(0.1);
  expect(tinyZeroScore(`${answer("1")} ${answer("25 + (3 * 7)")}`, task)).toBe(1);
});

test("the released code reads the last line only", () => {
  expect(tinyZeroScore(`${answer("25 + 3 * 7")}\n`, task, { lastLineOnly: true })).toBe(0);
  expect(tinyZeroScore(answer("25 + 3 * 7"), task, { lastLineOnly: true })).toBe(1);
});

test("RAGEN: the wrong numbers are worth nothing", () => {
  const scoreOf = (equation: string, puzzle: Countdown) => countdownScore(equation, puzzle, "ragen");
  expect(scoreOf("46", task)).toBe(0);
  expect(scoreOf("25 + 3 + 7", task)).toBe(0.1);
  expect(scoreOf("7 * 3 + 25", task)).toBe(1);
  expect(scoreOf("3 + 3 + 7 + 25", task)).toBe(0);
  expect(scoreOf("25 / (3 - 3) + 7", { numbers: [3, 3, 7, 25], target: 1 })).toBe(0.1);
});

test("a decimal is one number, not the digits on either side of its point", () => {
  const puzzle = { numbers: [3, 5, 2], target: 7 };
  expect(countdownScore("3.5*2", puzzle, "ragen")).toBe(0);
  expect(countdownScore("3.5*2", puzzle, "tiny-zero")).toBe(0.1);
  expect(tinyZeroScore(answer("3.5*2"), puzzle)).toBe(0.1);
  expect(countdownScore("3. + 5 - 2", { ...puzzle, target: 6 }, "ragen")).toBe(1);
});

test("what cannot be evaluated is compared by its digits", () => {
  const puzzle = { numbers: [3, 5, 2], target: 10 };
  expect(countdownScore("3 5 2", puzzle, "ragen")).toBe(0.1);
  expect(countdownScore("3 + 5 + 2 = 10", puzzle, "ragen")).toBe(0);
  expect(countdownScore("", puzzle, "ragen")).toBe(0);
});

test("nothing throws", () => {
  for (const text of randomTagTexts(14, 2000, ["answer"], ["25", "+", "3 * 7", "("])) {
    expect([0, 0.1, 1]).toContain(tinyZeroScore(text, task));
  }
});
