import { expect, test } from "vitest";
import { startGate, startsPerTurn } from "./start-gate.ts";

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

test("a few hundred begin in a turn of the event loop, in the order they came", async () => {
  const begun: number[] = [];
  const start = async (index: number) => {
    await startGate();
    begun.push(index);
  };
  const all = Array.from({ length: 2.5 * startsPerTurn }, (_, index) => start(index));
  const counts: number[] = [];
  for (let turn = 0; turn < 3; turn++) {
    await Promise.resolve();
    counts.push(begun.length);
    await nextTurn();
  }
  await Promise.all(all);
  expect(counts.map((count) => count / startsPerTurn)).toEqual([1, 2, 2.5]);
  expect(begun).toEqual(all.map((_, index) => index));
});

test("one alone does not wait, nor does the first after a crowd has gone", async () => {
  await nextTurn();
  expect(startGate()).toBeUndefined();
  await Promise.all(Array.from({ length: 2 * startsPerTurn }, startGate));
  await nextTurn();
  await nextTurn();
  expect(startGate()).toBeUndefined();
});

test("nothing is left running", async () => {
  await Promise.all(Array.from({ length: 3 * startsPerTurn }, startGate));
  await nextTurn();
  await nextTurn();
  expect(process.getActiveResourcesInfo()).not.toContain("Immediate");
});
