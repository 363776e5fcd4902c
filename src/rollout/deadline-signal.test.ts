import { getEventListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { DeadlineSignal } from "./deadline-signal.ts";

test("time runs out", async () => {
  const deadline = new DeadlineSignal(5, undefined);
  expect(deadline.signal.aborted).toBe(false);
  await sleep(15);
  expect(deadline.signal.aborted).toBe(true);
  expect(deadline.isTimeUp).toBe(true);
  expect(deadline.signal.reason).toMatchObject({ name: "TimeoutError", message: expect.stringMatching("5 ms") });
});

test("the outer signal goes through, with its reason, and that is not the time", () => {
  const outer = new AbortController();
  const deadline = new DeadlineSignal(1_000, outer.signal);
  outer.abort(new Error("enough"));
  expect(deadline.signal.reason).toMatchObject({ message: "enough" });
  expect(deadline.isTimeUp).toBe(false);
  deadline.clear();
});

test("a signal that was aborted before is aborted at once, with nothing to clear", () => {
  const deadline = new DeadlineSignal(1_000, AbortSignal.abort());
  expect(deadline.signal.aborted).toBe(true);
  expect(deadline.isTimeUp).toBe(false);
});

test("once cleared, neither time nor the outer signal is heard, and nothing is left behind", async () => {
  const outer = new AbortController();
  const deadlines = Array.from({ length: 3 }, () => new DeadlineSignal(5, outer.signal));
  for (const deadline of deadlines) deadline.clear();
  expect(getEventListeners(outer.signal, "abort")).toEqual([]);
  await sleep(15);
  outer.abort();
  expect(deadlines.map(({ signal }) => signal.aborted)).toEqual([false, false, false]);
});

test.each([Number.POSITIVE_INFINITY, 2 ** 31])("%s ms is not at once", async (milliseconds) => {
  const deadline = new DeadlineSignal(milliseconds, undefined);
  await sleep(5);
  expect(deadline.signal.aborted).toBe(false);
  deadline.clear();
});
