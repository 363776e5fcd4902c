import { expect, test } from "vitest";
import { exactMatchScore, normalizeAnswer, substringMatchScore, tokenF1 } from "./normalize-answer.ts";

test("normal form", () => {
  expect(normalizeAnswer("  The  Eiffel-Tower, (Paris)! ")).toBe("eiffeltower paris");
  expect(normalizeAnswer("An apple a day")).toBe("apple day");
  // the article is a word, not the end of one
  expect(normalizeAnswer("Éa theatre")).toBe("éa theatre");
});

test("exact match asks for one of the golds", () => {
  expect(exactMatchScore("the Beatles.", ["Queen", "Beatles"])).toBe(1);
  expect(exactMatchScore("the Beatles and Queen", "Beatles")).toBe(0);
  expect(exactMatchScore("", [])).toBe(0);
  expect(exactMatchScore("", "x")).toBe(0);
});

test("substring match asks that a gold occurs", () => {
  expect(substringMatchScore("It was The Beatles, in 1963", "beatles")).toBe(1);
  expect(substringMatchScore("Beat", "Beatles")).toBe(0);
  expect(substringMatchScore("anything", "the")).toBe(0);
});

test("F1 over words", () => {
  expect(tokenF1("the big red dog", "red dog")).toBeCloseTo(0.8, 12);
  expect(tokenF1("the cat sat", "cat sat down")).toBeCloseTo(0.8, 12);
  expect(tokenF1("a a b b", "b")).toBeCloseTo(2 / 3, 12);
  expect(tokenF1("dog dog", "dog")).toBeCloseTo(2 / 3, 12);
  expect(tokenF1("cat", ["dog", "cat"])).toBe(1);
  expect(tokenF1("", "")).toBe(0);
  expect(tokenF1("yes it is", "yes")).toBe(0);
  expect(tokenF1("Yes.", "yes")).toBe(1);
  expect(tokenF1("x", [])).toBe(0);
});
