import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { onAbort } from "./on-abort.ts";

test("everyone who waits is called once, and shares a listener", () => {
  const controller = new AbortController();
  const called: number[] = [];
  for (let i = 0; i < 100; i++) onAbort(controller.signal, () => called.push(i));
  expect(getEventListeners(controller.signal, "abort")).toHaveLength(1);
  controller.abort();
  controller.abort();
  expect(called).toEqual(Array.from({ length: 100 }, (_, i) => i));
});

test("who has taken it back is not called, and the last one takes the listener along", () => {
  const controller = new AbortController();
  const called: string[] = [];
  const forgetOne = onAbort(controller.signal, () => called.push("one"));
  const forgetTwo = onAbort(controller.signal, () => called.push("two"));
  forgetOne();
  forgetOne();
  onAbort(controller.signal, () => called.push("three"));
  forgetTwo();
  controller.abort();
  expect(called).toEqual(["three"]);
  expect(getEventListeners(controller.signal, "abort")).toEqual([]);
});

test("a signal can be waited for again after everyone has left", () => {
  const controller = new AbortController();
  let called = 0;
  onAbort(controller.signal, () => called++)();
  onAbort(controller.signal, () => called++);
  controller.abort();
  expect(called).toBe(1);
});

test("signals are apart", () => {
  const [one, two] = [new AbortController(), new AbortController()];
  const called: string[] = [];
  onAbort(one.signal, () => called.push("one"));
  onAbort(two.signal, () => called.push("two"));
  two.abort();
  expect(called).toEqual(["two"]);
});
