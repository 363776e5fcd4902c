import { describe, expect, test } from "vitest";
import { repetitionShares, sentenceBleu } from "./repetition.ts";

const bleu = (reference: string, said: string) => sentenceBleu(reference.split(" "), said.split(" "));

describe("sentence BLEU, as NLTK 3.9 computes it with method1", () => {
  test.each([
    ["a b c d e", "a b c d e", 1],
    ["a b c", "a b c", 0.5623413251903491],
    ["a b c d e", "a b c x e", 0.28574404296988],
    ["a b c d e f", "a b c", 0.20687381245863395],
    ["a b c", "a b c d e f", 0.20205155046766235],
    ["a b", "x y", 0],
    ["the cat the cat on the mat", "the the the cat sat on the mat today", 0.1561969968460128],
  ])("%s | %s", (reference, said, expected) => {
    expect(bleu(reference, said)).toBeCloseTo(expected, 12);
  });

  test("nothing said is nothing", () => expect(sentenceBleu(["a"], [])).toBe(0));
});

describe("the share of texts that are like one", () => {
  test("is 1 where all say the same, and 1 / n where none does", () => {
    expect(repetitionShares(["what is 2 + 2 ?", "what is 2 + 2 ?"])).toEqual([1, 1]);
    expect(repetitionShares(["a b c d", "e f g h", "i j k l", "m n o p"])).toEqual([0.25, 0.25, 0.25, 0.25]);
    expect(repetitionShares([])).toEqual([]);
  });

  test("is that of its cluster", () => {
    const texts = ["what is 2 + 2 + 1 ?", "name a tree with red leaves", "what is 2 + 2 + 7 ?", "what is 2 + 2 + 1 ?"];
    expect(repetitionShares(texts)).toEqual([0.75, 0.25, 0.75, 0.75]);
  });

  test("may be of other tokens than words", () => {
    expect(repetitionShares(["123+4", "123+5"])).toEqual([0.5, 0.5]);
    expect(repetitionShares(["123+4", "123+5"], (text) => [...text])).toEqual([1, 1]);
  });

  test("of very long texts is told in time", () => {
    const long = "a b ".repeat(100_000);
    expect(repetitionShares([long, long])).toEqual([1, 1]);
  });
});
