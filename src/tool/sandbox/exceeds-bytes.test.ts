import { expect, test } from "vitest";
import { exceedsBytes } from "./exceeds-bytes.ts";

const cyclic: Record<string, unknown> = {};
cyclic.self = cyclic;
const long = "x".repeat(100);

test.each([
  ["a number", 1, 8, false],
  ["a cycle, which is written once", cyclic, 100, false],
  ["a string", long, 100, false],
  ["a longer string", `${long}x`, 100, true],
  ["a string many times, which is written every time", new Array(1e6).fill(long), 1e6, true],
  ["a buffer", new Uint8Array(101), 100, true],
  ["a map", new Map([[long, long]]), 150, true],
  ["a set", new Set([long]), 50, true],
  ["a long key", { [long]: 1 }, 50, true],
  ["an array of nothing", new Array(1e9), 1e6, true],
])("%s", (_, value, bytes, exceeds) => {
  expect(exceedsBytes(value, bytes)).toBe(exceeds);
});
