import { expect, test } from "vitest";
import { bm25 } from "./bm25.ts";

test("scores are Okapi's", () => {
  // three documents of 2, 3 and 1 words, 2 on average; "c" is in one of them, twice
  const find = bm25(["a b", "a c c", "d"]);
  expect(find("c", 3)).toEqual([{ index: 1, score: expect.closeTo(1.18237, 5) }]);
  const [first, second] = find("a", 3);
  // ln(1 + 1.5 / 2.5) = 0.470004, times 2.2 over 2.2 and over 2.65
  expect(first).toEqual({ index: 0, score: expect.closeTo(0.470004, 6) });
  expect(second).toEqual({ index: 1, score: expect.closeTo(0.390192, 6) });
});

test("words count once in a query, whatever their case and marks", () => {
  const find = bm25(["a b", "a c c", "d"]);
  expect(find("C, c? C!", 3)).toEqual(find("c", 3));
});

test("without b, long documents are not held back", () => {
  expect(bm25(["a", "a b b b b b"], { b: 0 })("a", 2).map(({ score }) => score)).toEqual([
    expect.closeTo(0.182322, 6),
    expect.closeTo(0.182322, 6),
  ]);
});

test("the best come first, of equals the earlier, and no more than asked for", () => {
  const find = bm25(["x y", "y x", "x", "z"]);
  expect(find("x", 9).map(({ index }) => index)).toEqual([2, 0, 1]);
  expect(find("x", 2).map(({ index }) => index)).toEqual([2, 0]);
});

test("nothing is found where no word is shared, in no documents, or for no words", () => {
  expect(bm25(["a"])("b", 3)).toEqual([]);
  expect(bm25(["a"])("", 3)).toEqual([]);
  expect(bm25(["a"])("constructor __proto__", 3)).toEqual([]);
  expect(bm25([])("a", 3)).toEqual([]);
});
