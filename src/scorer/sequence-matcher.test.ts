import { describe, expect, test } from "vitest";
import { createRng } from "../random.ts";
import { matchingBlocks, opcodes, sequenceRatio, textRatio } from "./sequence-matcher.ts";

test("the worked example: the longest block first, then both sides", () => {
  expect(matchingBlocks([..."abxcd"], [..."abcd"])).toEqual([
    { a: 0, b: 0, size: 2 },
    { a: 3, b: 2, size: 2 },
    { a: 5, b: 4, size: 0 },
  ]);
  expect(opcodes([..."qabxcd"], [..."abycdf"]).map(({ tag }) => tag)).toEqual([
    "delete",
    "equal",
    "replace",
    "equal",
    "insert",
  ]);
});

test("ratios", () => {
  expect(textRatio("abcd", "bcde")).toBe(0.75);
  expect(textRatio("", "")).toBe(1);
  expect(textRatio("", "a")).toBe(0);
  // the order of the arguments matters: ties go to the first in a
  expect(textRatio("tide", "diet")).toBe(0.25);
  expect(textRatio("diet", "tide")).toBe(0.5);
  // a code point outside the basic plane is one element
  expect(textRatio("😀a", "😀b")).toBe(0.5);
});

test("autojunk keeps an element that fills b from starting a match", () => {
  const a = ["x", "x", "y"];
  const b = [...Array<string>(300).fill("x"), "y"];
  expect(sequenceRatio(a, b)).toBeCloseTo(6 / 304, 12);
  expect(matchingBlocks(a, b, { autojunk: true })[0]).toEqual({ a: 0, b: 298, size: 3 });
  expect(matchingBlocks(["z", "x"], b, { autojunk: true })).toHaveLength(1);
});

describe("properties over random sequences", () => {
  const rng = createRng(3);
  const random = () => Array.from({ length: rng.integer(30) }, () => rng.integer(4));
  test.each(Array.from({ length: 200 }, (_, index) => index))("case %i", () => {
    const [a, b] = [random(), random()];
    const codes = opcodes(a, b);
    const rebuilt = codes.flatMap((code) =>
      code.tag === "equal" ? a.slice(code.aStart, code.aEnd) : b.slice(code.bStart, code.bEnd),
    );
    expect(rebuilt).toEqual(b);
    let [aAt, bAt] = [0, 0];
    for (const code of codes) {
      expect([code.aStart, code.bStart]).toEqual([aAt, bAt]);
      [aAt, bAt] = [code.aEnd, code.bEnd];
    }
    expect([aAt, bAt]).toEqual([a.length, b.length]);
    const ratio = sequenceRatio(a, b);
    expect(ratio).toBeGreaterThanOrEqual(0);
    expect(ratio).toBeLessThanOrEqual(1);
    expect(sequenceRatio(a, a)).toBe(1);
  });
});
