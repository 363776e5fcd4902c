import { expect, test } from "vitest";
import { hasSearchR1Format, searchR1FormatScore, searchR1Score } from "./search-r1.ts";
import { randomTagTexts } from "./testing/random-tag-texts.ts";

const run = (answer: string, found = "nothing") =>
  `<think>a</think>\n<search>q</search>\n\n<information>Doc 1 ${found}</information>\n\n<think>b</think><answer> ${answer} </answer>`;

test("exact match of the last answer", () => {
  expect(searchR1Score("<answer>Rome</answer> no, <answer>the Paris</answer>", ["Paris"])).toBe(1);
  expect(searchR1Score("Paris", ["Paris"])).toBe(0);
  expect(searchR1Score("<answer>Paris, France</answer>", "Paris")).toBe(0);
});

test("the six outcomes of the format variant", () => {
  expect(searchR1FormatScore(run("Paris"), "Paris")).toBe(1);
  expect(searchR1FormatScore(`x${run("Paris")}`, "Paris")).toBe(0.8);
  expect(searchR1FormatScore(run("Rome", "Paris"), "Paris")).toBeCloseTo(0.3, 12);
  expect(searchR1FormatScore(run("Rome"), "Paris")).toBe(0.2);
  expect(searchR1FormatScore(`x${run("Rome")}`, "Paris")).toBe(0.1);
  expect(searchR1FormatScore("Rome", "Paris")).toBe(0);
  expect(searchR1FormatScore(run("Rome", "Paris"), "Paris", { structure: 0, retrieval: 0, finalFormat: 0 })).toBe(0);
});

test.each([
  ["<answer>a</answer>", false],
  ["<think>a</think><answer>b</answer>", true],
  [" <think>a</think> <answer>b</answer>\n", true],
  ["<think>a</think><think>a</think><answer>b</answer>", false],
  ["<think>a</think><search>b</search><answer>b</answer>", false],
  ["<think>a</think><search>b</search><information>c</information><answer>b</answer>", false],
  ["<think>a<search>b</search></think><answer>b</answer>", false],
  ["<think>a</think><answer>b</answer><think>c</think>", false],
  ["<think>a</think>text<answer>b</answer>", false],
  ["", false],
])("structure of %j is %s", (text, expected) => expect(hasSearchR1Format(text)).toBe(expected));

test("nothing throws, and what passes has one answer", () => {
  for (const text of randomTagTexts(9, 4000, ["think", "search", "information", "answer"])) {
    searchR1FormatScore(text, "a");
    if (hasSearchR1Format(text)) expect(text.split("<answer>")).toHaveLength(2);
  }
});
