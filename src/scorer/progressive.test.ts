import { expect, test } from "vitest";
import { LudusError } from "../errors.ts";
import { alphaScheduleScore, lengthAwareBleu, stagedGates, stagedParts } from "./progressive.ts";

test("a stage counts only where those before it hold", () => {
  const all = { parsed: true, fits: true, answered: true, answer: 1 };
  expect(stagedGates(all)).toBe(1.5);
  expect(stagedGates({ ...all, answer: 0.5 })).toBe(1);
  expect(stagedGates({ ...all, answered: false })).toBeCloseTo(0.3, 12);
  expect(stagedGates({ ...all, fits: false })).toBe(0.1);
  expect(stagedGates({ ...all, parsed: false })).toBe(0);
  expect(stagedGates(all, { answer: 2 })).toBe(2.5);
  expect(stagedParts({ ...all, answer: 0.5 })).toEqual({ parsed: 0.1, fits: 0.2, answered: 0.2, answer: 0.5 });
  expect(stagedParts({ ...all, fits: false })).toEqual({ parsed: 0.1, fits: 0, answered: 0, answer: 0 });
});

test("BLEU by the reference's length", () => {
  expect(lengthAwareBleu("Paris", "paris")).toBe(1);
  expect(lengthAwareBleu("Paris France", "Paris")).toBe(0.5);
  expect(lengthAwareBleu("one two three four five", "one two three four five")).toBeCloseTo(1, 12);
  // unigrams 2 of 3, bigrams 1 of 2
  expect(lengthAwareBleu("red dog house", "red dog")).toBeCloseTo(Math.sqrt((2 / 3) * (1 / 2)), 12);
  expect(lengthAwareBleu("red", "red dog")).toBe(0);
  expect(lengthAwareBleu("", "red")).toBe(0);
  expect(lengthAwareBleu("dog dog", "dog")).toBe(0.5);
});

test("the schedule: 0.3, 0.7, 1", () => {
  expect(alphaScheduleScore(0, 1, [0, 0])).toBe(0.3);
  expect(alphaScheduleScore(0.5, 1, [0, 0])).toBe(0.7);
  expect(alphaScheduleScore(1, 1, [0, 0])).toBe(1);
  expect(alphaScheduleScore(0, 0, [1, 0])).toBeCloseTo(0.35, 12);
  expect(() => alphaScheduleScore(2, 1, [])).toThrow(LudusError);
});
