import { expect, test } from "vitest";
import { randomTagTexts } from "./testing/random-tag-texts.ts";
import { ragenCountdownScore, tinyZeroScore } from "./tiny-zero.ts";

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
  expect(ragenCountdownScore("46", task)).toBe(0);
  expect(ragenCountdownScore("25 + 3 + 7", task)).toBe(0.1);
  expect(ragenCountdownScore("7 * 3 + 25", task)).toBe(1);
  expect(ragenCountdownScore("3 + 3 + 7 + 25", task)).toBe(0);
  expect(ragenCountdownScore("25 / (3 - 3) + 7", { numbers: [3, 3, 7, 25], target: 1 })).toBe(0.1);
});

test("nothing throws", () => {
  for (const text of randomTagTexts(14, 2000, ["answer"], ["25", "+", "3 * 7", "("])) {
    expect([0, 0.1, 1]).toContain(tinyZeroScore(text, task));
  }
});
