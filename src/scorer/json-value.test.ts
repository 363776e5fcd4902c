import { expect, test } from "vitest";
import { asJson, canonicalJson, isJsonObject, parseJson } from "./json-value.ts";

test("canonical JSON does not depend on the order of keys", () => {
  expect(canonicalJson({ b: [1, { d: null, c: "x" }], a: true })).toBe('{"a":true,"b":[1,{"c":"x","d":null}]}');
  expect(canonicalJson([2, 1])).toBe("[2,1]");
});

test("what is not JSON is undefined", () => {
  expect(parseJson("{'a': 1}")).toBeUndefined();
  expect(parseJson("null")).toBeNull();
  expect(parseJson("[".repeat(50_000) + "]".repeat(50_000))).toBeUndefined();
  expect(parseJson(JSON.stringify("[".repeat(500)))).toBe("[".repeat(500));
  expect([isJsonObject([]), isJsonObject(null), isJsonObject(undefined), isJsonObject({})]).toEqual([
    false,
    false,
    false,
    true,
  ]);
});

test("a text of escaped quotes is read in linear time", () => {
  const escaped = '\\"'.repeat(200_000);
  const start = performance.now();
  expect(parseJson(`"${escaped}`)).toBeUndefined();
  expect(parseJson(`"${escaped}"`)).toHaveLength(200_000);
  expect(performance.now() - start).toBeLessThan(2000);
});

test("brackets in strings do not nest", () => {
  expect(parseJson(`["${"[".repeat(300)}", "\\\\"]`)).toEqual(["[".repeat(300), "\\"]);
});

test("any value as JSON, or null", () => {
  expect(asJson({ a: undefined, b: [1, undefined] })).toEqual({ b: [1, null] });
  expect(asJson(undefined)).toBeNull();
  expect(asJson(1n)).toBeNull();
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  expect(asJson(cycle)).toBeNull();
  let deep: unknown = 1;
  for (let i = 0; i < 100_000; i++) deep = [deep];
  expect(asJson(deep)).toBeNull();
});
