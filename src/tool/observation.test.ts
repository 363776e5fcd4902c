import { describe, expect, test } from "vitest";
import { cutText } from "../cut-text.ts";
import { toObservation } from "./observation.ts";

describe("toObservation", () => {
  test.each([
    ["a string", "as it is", "as it is"],
    ["an empty string", "", ""],
    ["nothing", undefined, "ok"],
    ["null", null, "null"],
    ["a number", 4.5, "4.5"],
    ["an object", { a: [1, undefined], b: undefined }, '{"a":[1,null]}'],
    ["a date", new Date(0), '"1970-01-01T00:00:00.000Z"'],
  ])("%s", (_, value, text) => expect(toObservation(value)).toBe(text));

  const circle: Record<string, unknown> = {};
  circle.self = circle;
  test.each([
    ["a function", () => 1, "JSON cannot say a function"],
    ["a function within", { run: () => 1 }, 'JSON cannot say a function (in "run")'],
    ["a symbol", Symbol("s"), "JSON cannot say a symbol"],
    ["a BigInt", { n: 1n }, "JSON cannot say a BigInt"],
    ["a Map", { found: new Map([[1, 2]]) }, "JSON cannot say a Map or Set"],
    ["a promise", { text: Promise.resolve(1) }, "JSON cannot say a promise"],
    ["a circle", circle, "circular"],
  ])("refuses %s", (_, value, message) => expect(() => toObservation(value)).toThrow(message));
});

describe("cutText", () => {
  test("leaves what fits", () => expect(cutText("12345", 5)).toBe("12345"));

  test("keeps beginning and end within the limit, and counts what is missing", () => {
    const text = Array.from({ length: 1000 }, (_, index) => String(index % 10)).join("");
    const cut = cutText(text, 60);
    expect(cut).toBe(`${text.slice(0, 25)}\n[963 characters cut]\n${text.slice(-12)}`);
    expect(cut.length).toBeLessThanOrEqual(60);
  });

  test("is never longer than the limit, and never splits a character", () => {
    const text = "a😀".repeat(400);
    for (let limit = 40; limit < 200; limit++) {
      const cut = cutText(text, limit);
      expect(cut.length).toBeLessThanOrEqual(limit);
      expect(cut.isWellFormed()).toBe(true);
      const missing = Number(/\[(\d+) characters cut\]/.exec(cut)![1]);
      expect(cut.replace(/\n\[.*\]\n/, "").length + missing).toBe(text.length);
    }
  });

  test("says what is missing even where there is no room to", () => {
    expect(cutText("x".repeat(100), 3)).toBe("\n[100 characters cut]\n");
  });
});
