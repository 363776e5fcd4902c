import { expect, test } from "vitest";
import { canonicalJson, isJsonObject, parseJson } from "./json-value.ts";

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
