import { describe, expect, test } from "vitest";
import { patchSimilarity, sweRlScore } from "./swe-rl.ts";
import { randomTagTexts } from "./testing/random-tag-texts.ts";

const source = (first: string, second: string) =>
  `def add(a, b):\n    return ${first}\n\ndef mul(a, b):\n    return ${second}\n`;
const task = {
  files: { "math.py": source("a - b", "a * b") },
  goldFiles: { "math.py": source("a + b", "a * b") },
};
const edit = (search: string, replace: string, path = "math.py") =>
  `\`\`\`python\n### ${path}\n<<<<<<< SEARCH\n${search}\n=======\n${replace}\n>>>>>>> REPLACE\n\`\`\``;
const answer = (...edits: string[]) => `<think>hm</think>\n<solution>\n${edits.join("\n")}\n</solution>`;
const reward = (...edits: string[]) => sweRlScore(answer(...edits), task).reward;

describe("golden figures of the five-line file", () => {
  test.each([
    ["the fix", "    return a - b", "    return a + b", 1],
    ["the same in meaning", "    return a - b", "    return b + a", 0.980583],
    ["a wrong fix", "    return a - b", "    return a", 0.980198],
    ["the wrong function", "    return a * b", "    return a + b", 0.621053],
    ["search not found", "return a - b", "return a + b", -1],
    ["identical search and replace", "    return a - b", "    return a - b", -1],
  ])("%s", (_, search, replace, expected) => expect(reward(edit(search, replace))).toBeCloseTo(expected, 6));
});

test("a file that only one side touches scores 0, and files are averaged", () => {
  const files = { ...task.files, "b.py": "x\n" };
  const right = edit("    return a - b", "    return a + b");
  const { reward, similarities } = sweRlScore(answer(right, edit("x", "y", "b.py")), { ...task, files });
  expect(similarities).toEqual({ "math.py": 1, "b.py": 0 });
  expect(reward).toBe(0.5);
});

test("edits follow one another, and a dollar sign is only a character", () => {
  const text = answer(edit("    return a - b", "    return $&"), edit("    return $&", "    return a + b"));
  expect(sweRlScore(text, task).reward).toBe(1);
});

test.each([
  ["no edit", answer("none")],
  ["empty thought", answer(edit("    return a - b", "    return a + b")).replace("hm", " ")],
  ["doubled tag", `<think>${answer(edit("    return a - b", "    return a + b"))}`],
  ["no tags", edit("    return a - b", "    return a + b")],
])("format: %s", (_, text) => {
  const { reward, error } = sweRlScore(text, task);
  expect(reward).toBe(-1);
  expect(error).not.toBeNull();
});

test("two sides that change nothing agree", () => {
  expect(patchSimilarity(task.files, task.files, task.files).reward).toBe(1);
});

test("nothing throws", () => {
  const extra = [edit("    return a - b", "x"), edit("", "x"), edit("q", "q", "__proto__")];
  for (const text of randomTagTexts(6, 1500, ["think", "solution"], extra)) {
    expect(sweRlScore(text, task).reward).toBeLessThanOrEqual(1);
  }
});
