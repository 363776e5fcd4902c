import { expect, test } from "vitest";
import { reSearchAnswerScore, reSearchFormatError, reSearchScore } from "./re-search.ts";
import { randomTagTexts } from "./testing/random-tag-texts.ts";

const good = (answer: string) =>
  `<think>look</think> <search>q</search> <result>r</result> <think>so</think> <answer>it is \\boxed{${answer}}</answer>`;

test("0, 0.1 or F1", () => {
  expect(reSearchScore(good("red dog"), "the red dog").reward).toBe(1);
  expect(reSearchScore(good("big red dog"), "red dog").reward).toBeCloseTo(0.8, 12);
  expect(reSearchScore(good("cat"), ["red dog", "dog"]).reward).toBe(0.1);
  expect(reSearchScore(good("dog"), ["red dog", "dog"]).reward).toBe(1);
  expect(reSearchScore(good("dog"), "dog", { finished: false }).reward).toBe(0);
});

test.each([
  ["no thought", "<answer>\\boxed{1}</answer>"],
  ["unpaired thought", `<think>${good("1")}`],
  ["two answers", `${good("1")}<answer>\\boxed{1}</answer>`],
  ["no box", good("1").replace("\\boxed{1}", "1")],
  ["search without result", good("1").replace("<result>r</result>", "")],
  ["result before its search", "<think></think><result>r</result><search>q</search><answer>\\boxed{1}</answer>"],
  ["answer the wrong way round", "<think></think></answer>\\boxed{1}<answer>"],
])("format: %s", (_, text) => {
  expect(reSearchFormatError(text)).not.toBeNull();
  expect(reSearchScore(text, "1").reward).toBe(0);
});

test("a box that never closes is 0", () => {
  expect(reSearchScore("<think>}</think><answer>}\\boxed{1</answer>", "1").reward).toBe(0);
});

test("the published rule counts tags, so that nested ones pass", () => {
  const nested = good("1").replace("<think>look</think>", "<think><think>look</think></think>");
  expect(reSearchFormatError(nested)).toBe("nested tags");
  expect(reSearchFormatError(nested, "published")).toBeNull();
});

test("nothing throws", () => {
  for (const text of randomTagTexts(8, 3000, ["think", "search", "result", "answer"], ["\\boxed{1}"])) {
    const { reward } = reSearchScore(text, "1");
    expect(reward).toBeGreaterThanOrEqual(0);
    expect(reward).toBeLessThanOrEqual(1);
  }
});

test("an answer in the right format is worth 0.1 at least", () => {
  expect(reSearchAnswerScore("red dog", "red dog")).toBe(1);
  expect(reSearchAnswerScore("the big red dog", "red dog")).toBeCloseTo(0.8, 12);
  expect(reSearchAnswerScore("cat", "red dog")).toBe(0.1);
  // yes and no count only as the whole answer
  expect(reSearchAnswerScore("yes it is", "yes")).toBe(0.1);
});
