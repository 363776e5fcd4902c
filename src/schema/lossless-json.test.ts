import { expect, test } from "vitest";
import { fromLosslessJson, toLosslessJson } from "./lossless-json.ts";

test("what JSON loses comes back", () => {
  const value = [
    -0,
    0,
    Number.NaN,
    Infinity,
    -Infinity,
    { deep: [-0] },
    "\u0000",
    "\u0000NaN",
    "\u0000\u0000-0",
    "",
    null,
  ];
  expect(fromLosslessJson(toLosslessJson(value))).toStrictEqual(value);
});

test("it is plain JSON where nothing is lost", () => {
  const value = { text: 'a "b" \\u0000', numbers: [1, -2.5e-9], flag: true, none: null };
  expect(toLosslessJson(value)).toBe(JSON.stringify(value));
  expect(fromLosslessJson(toLosslessJson(value))).toStrictEqual(value);
});

test("a number that toJSON returns is kept, and a circle is refused as JSON refuses it", () => {
  const value = { inner: { toJSON: () => [-0] } };
  expect(fromLosslessJson(toLosslessJson(value))).toStrictEqual({ inner: [-0] });
  const circle: { self?: unknown } = {};
  circle.self = circle;
  expect(() => toLosslessJson(circle)).toThrow(/circular/);
  let deep: unknown = Number.NaN;
  for (let depth = 0; depth < 500; depth++) deep = [deep];
  expect(fromLosslessJson(toLosslessJson(deep))).toStrictEqual(deep);
});
