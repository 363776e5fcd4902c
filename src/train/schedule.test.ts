import { expect, test } from "vitest";
import { cosine, linearSchedule, scheduleAt, warmup } from "./schedule.ts";

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
