import { expect, test } from "vitest";
import { wordTokens } from "./word-tokens.ts";

test("words, numbers and signs", () => {
  expect(wordTokens("It's $1,000.50 (at 12:30), isn't it?")).toEqual([
    "It",
    "'s",
    "$",
    "1,000.50",
    "(",
    "at",
    "12:30",
    ")",
    ",",
    "is",
    "n't",
    "it",
    "?",
  ]);
  expect(wordTokens("a well-known end.")).toEqual(["a", "well-known", "end", "."]);
  expect(wordTokens("")).toEqual([]);
});
