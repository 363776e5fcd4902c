import { expect, test } from "vitest";
import { LudusError } from "../errors.ts";
import { alphaAt, stagedParts } from "./progressive.ts";

test("a stage counts only where those before it hold", () => {
  const all = { parsed: true, fits: true, answered: true, answer: 0.5 };
  expect(stagedParts(all)).toEqual({ parsed: 0.1, fits: 0.2, answered: 0.2, answer: 0.5 });
  expect(stagedParts({ ...all, answered: false })).toEqual({ parsed: 0.1, fits: 0.2, answered: 0, answer: 0 });
  expect(stagedParts({ ...all, fits: false })).toEqual({ parsed: 0.1, fits: 0, answered: 0, answer: 0 });
  expect(stagedParts({ ...all, parsed: false })).toEqual({ parsed: 0, fits: 0, answered: 0, answer: 0 });
  expect(stagedParts(all, { answer: 2 }).answer).toBe(1);
});

test("the schedule: 0.3, 0.7, 1", () => {
  expect([0, 0.33, 0.34, 0.66, 0.67, 1].map(alphaAt)).toEqual([0.3, 0.3, 0.7, 0.7, 1, 1]);
  expect(() => alphaAt(2)).toThrow(LudusError);
  expect(() => alphaAt(Number.NaN)).toThrow(LudusError);
});
