import { expect, test } from "vitest";
import { fuzzyRatio, tokenSetRatio } from "./fuzzy-ratio.ts";

test("the examples of thefuzz", () => {
  expect(fuzzyRatio("this is a test", "this is a test!")).toBe(97);
  expect(fuzzyRatio("fuzzy wuzzy was a bear", "wuzzy fuzzy was a bear")).toBe(91);
  expect(tokenSetRatio("fuzzy was a bear", "fuzzy fuzzy was a bear")).toBe(100);
});

test("words of one text inside the other are 100; nothing in common is low; empty is 0", () => {
  expect(tokenSetRatio("long sleeve", "Long-sleeve, cotton shirt")).toBe(100);
  expect(tokenSetRatio("red", "green")).toBeLessThan(85);
  expect([fuzzyRatio("", ""), tokenSetRatio("!!", "!!")]).toEqual([0, 0]);
  expect(fuzzyRatio("same", "same")).toBe(100);
});

test("the common subsequence, not difflib's blocks, is counted", () => {
  // difflib finds 1 + 0 of these: 25
  expect(fuzzyRatio("tide", "diet")).toBe(50);
});
