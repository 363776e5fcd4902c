import { expect, test } from "vitest";
import { KernelMemory } from "./kernel-memory.ts";

test("places are zeros, do not overlap, and stay where they are as memory grows", () => {
  const memory = new KernelMemory();
  const places = [1, 100, 70_000, 3, 5_000_000].map((bytes) => ({ bytes, start: memory.take(bytes)! }));
  places.forEach(({ bytes, start }, i) => {
    const numbers = new Uint8Array(memory.memory.buffer, start, bytes);
    expect(numbers.every((value) => value === 0)).toBe(true);
    numbers.fill(i + 1);
  });
  places.forEach(({ bytes, start }, i) => {
    expect(start % 64).toBe(0);
    expect(new Uint8Array(memory.memory.buffer, start, bytes).every((value) => value === i + 1)).toBe(true);
  });
});

test("what no 32-bit address can reach is refused, with the numbers where it must be there", () => {
  const memory = new KernelMemory();
  expect(memory.take(2 ** 33)).toBeUndefined();
  expect(() => memory.demand(2 ** 33, "logits")).toThrow("8192.0 MiB for logits");
  expect(memory.take(64)).toBeDefined();
});
