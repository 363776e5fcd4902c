import { expect, test } from "vitest";
import { cosine, linearSchedule, rateAt, scheduleAt, warmup } from "./schedule.ts";

test("a number is that number throughout", () => expect(scheduleAt(0.3, 0.7)).toBe(0.3));

test("along a straight line", () => {
  expect([0, 0.5, 1, 2].map((progress) => scheduleAt(linearSchedule(1.2, 0.7), progress))).toEqual([
    1.2, 0.95, 0.7, 0.7,
  ]);
});

test("half a cosine, down to a share", () => {
  expect(scheduleAt(cosine(2), 0)).toBe(2);
  expect(scheduleAt(cosine(2), 0.5)).toBeCloseTo(1, 12);
  expect(scheduleAt(cosine(2), 1)).toBeCloseTo(0, 12);
  expect(scheduleAt(cosine(2, 0.1), 1)).toBeCloseTo(0.2, 12);
  expect(scheduleAt(cosine(2, 0.1), 0.5)).toBeCloseTo(1.1, 12);
});

test("a rise at the beginning, of any schedule", () => {
  const schedule = warmup(0.1, linearSchedule(1, 0));
  expect(scheduleAt(schedule, 0)).toBeCloseTo(0.01, 12);
  expect(scheduleAt(schedule, 0.049)).toBeCloseTo(0.5 * 0.951, 12);
  expect(scheduleAt(schedule, 0.5)).toBe(0.5);
  expect(scheduleAt(warmup(0, 3), 0)).toBe(3);
});

test("a rate by size falls with the square root of the number of parameters", () => {
  expect(rateAt("by-size", 0.5, 250_000)).toBeCloseTo(3.2e-4, 10);
  expect(rateAt("by-size", 0.5, 25_000_000)).toBeCloseTo(3.2e-5, 10);
  // an engine that does not say how large it is
  expect(Number.isFinite(rateAt("by-size", 0, 0))).toBe(true);
  const falling = [0, 0.5, 1].map((progress) => rateAt("by-size-falling", progress, 250_000));
  for (const [i, times] of [2, 1.1, 0.2].entries()) expect(falling[i]).toBeCloseTo(times * 3.2e-4, 10);
});

test("any other rate is its schedule's", () => {
  expect(rateAt(0.3, 0.7, 1e6)).toBe(0.3);
  expect(rateAt(linearSchedule(1, 0), 0.25, 1e6)).toBe(0.75);
});
