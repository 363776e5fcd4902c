import { expect, test } from "vitest";
import { isTooDeep } from "./bounded-json.ts";
import { bounds } from "./bounds.ts";

const nested = (depth: number) => `${'{"a":['.repeat(depth / 2)}1${"]}".repeat(depth / 2)}`;

test("levels are counted outside of strings", () => {
  expect(isTooDeep(nested(bounds.jsonDepth))).toBe(false);
  expect(isTooDeep(nested(bounds.jsonDepth + 2))).toBe(true);
  expect(isTooDeep(JSON.stringify({ text: `\\"${"[".repeat(1000)}` }))).toBe(false);
  expect(isTooDeep(`[${"[],".repeat(1000)}1]`)).toBe(false);
});

test("text that is no JSON has an answer too", () => {
  expect(isTooDeep('"\\')).toBe(false);
  expect(isTooDeep("]".repeat(1000))).toBe(false);
  expect(isTooDeep("[".repeat(10_000_000))).toBe(true);
});
