import { expect, test } from "vitest";
import { createLimiter } from "./limiter.ts";

const never = new AbortController().signal;

test("at most so many at once, in order, whatever fails", async () => {
  const limited = createLimiter(2);
  const log: string[] = [];
  const gates = [0, 1, 2, 3].map(() => Promise.withResolvers<void>());
  const all = gates.map((gate, index) =>
    limited(async () => {
      log.push(`start ${index}`);
      await gate.promise;
    }, never),
  );
  await Promise.resolve();
  expect(log).toEqual(["start 0", "start 1"]);
  gates[0].reject(new Error("no"));
  await expect(all[0]).rejects.toThrow("no");
  expect(log).toEqual(["start 0", "start 1", "start 2"]);
  for (const gate of gates) gate.resolve();
  await Promise.all(all.slice(1));
  expect(log).toHaveLength(4);
});

test("one that is cancelled leaves the queue", async () => {
  const limited = createLimiter(1);
  const gate = Promise.withResolvers<void>();
  const cancel = new AbortController();
  let started = 0;
  const first = limited(() => gate.promise, never);
  const second = limited(async () => started++, cancel.signal);
  const third = limited(async () => started++, never);
  cancel.abort(new Error("enough"));
  await expect(second).rejects.toThrow("enough");
  gate.resolve();
  await Promise.all([first, third]);
  expect(started).toBe(1);
  await expect(limited(async () => started++, AbortSignal.abort(new Error("late")))).rejects.toThrow("late");
});
