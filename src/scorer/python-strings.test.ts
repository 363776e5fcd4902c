import { expect, test } from "vitest";
import { countOf, roundHalfEven, splitLines, splitWords, strip } from "./python-strings.ts";

test("words and edges follow Python's white space", () => {
  expect(splitWords("  a\u001cb\u0085c\u00a0 d\n")).toEqual(["a", "b", "c", "d"]);
  expect(splitWords("a\ufeffb")).toEqual(["a\ufeffb"]);
  expect(splitWords("")).toEqual([]);
  expect(strip("\u001f x y \t")).toBe("x y");
  expect(strip("\ufeffx")).toBe("\ufeffx");
});

test("lines follow Python's line ends", () => {
  expect(splitLines("a\r\nb\rc\u000bd\u2028e\n")).toEqual(["a", "b", "c", "d", "e"]);
  expect(splitLines("a\n\nb")).toEqual(["a", "", "b"]);
  expect(splitLines("")).toEqual([]);
  expect(splitLines("\n")).toEqual([""]);
});

test("counting skips overlaps", () => expect(countOf("aaaa", "aa")).toBe(2));

test("halves go to the even neighbour", () => {
  expect([0.5, 1.5, 2.5, -0.5, -1.5, 2.4, 12.5].map(roundHalfEven)).toEqual([0, 2, 2, 0, -2, 2, 12]);
});
