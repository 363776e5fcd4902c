import { expect, test } from "vitest";
import { hasTagFormat, tagBlocks, tagContents } from "./format-tags.ts";
import { randomTagTexts } from "./testing/random-tag-texts.ts";

const names = ["think", "answer"];

test("one block each, in order, nothing around", () => {
  expect(hasTagFormat("<think>a</think><answer>b</answer>", names)).toBe(true);
  expect(hasTagFormat("<think>\n</think> \n <answer></answer>", names)).toBe(true);
  expect(hasTagFormat("x<think>a</think><answer>b</answer>", names)).toBe(false);
  expect(hasTagFormat("<think>a</think><answer>b</answer>\n", names)).toBe(false);
  expect(hasTagFormat("<think>a</think>x<answer>b</answer>", names)).toBe(false);
  expect(hasTagFormat("<answer>b</answer><think>a</think>", names)).toBe(false);
  expect(hasTagFormat("", names)).toBe(false);
});

test.each([
  "<think><think>a</think></think><answer>b</answer>",
  "<think>a</think><think>a</think><answer>b</answer>",
  "<think>a</think><answer>b</answer><answer>c</answer>",
  "<think>a<answer>b</answer></think><answer>b</answer>",
  "<think>a</think><answer>b<answer></answer>",
])("nested or doubled tags fail: %s", (text) => expect(hasTagFormat(text, names)).toBe(false));

test("blocks and contents", () => {
  expect(tagBlocks("a<b>1</b><b>2</b>", ["b"])?.map((block) => block.content)).toEqual(["1", "2"]);
  expect(tagBlocks("</b>", ["b"])).toBeNull();
  expect(tagBlocks("<b>", ["b"])).toBeNull();
  expect(tagBlocks("<b><b>1</b>", ["b"])).toBeNull();
  expect(tagBlocks("no tags", ["b"])).toEqual([]);
  expect(tagContents("<b>1<b>2</b>3</b><b>4</b><b>", "b")).toEqual(["1<b>2", "4"]);
});

test("of random texts only those with each tag once pass, and nothing throws", () => {
  let passed = 0;
  for (const text of randomTagTexts(11, 4000, names)) {
    tagContents(text, "answer");
    if (!hasTagFormat(text, names)) continue;
    passed++;
    for (const tag of ["<think>", "</think>", "<answer>", "</answer>"]) expect(text.split(tag)).toHaveLength(2);
  }
  expect(passed).toBeGreaterThan(0);
});
