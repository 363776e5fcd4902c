import { expect, test } from "vitest";
import { agentR1Score } from "./agent-r1.ts";
import { randomTagTexts } from "./testing/random-tag-texts.ts";

const call = "<think>a</think>\n<tool_call>{}</tool_call>";
const final = (answer: string, thought = "b") => `<think>${thought}</think>\n<answer>${answer}</answer>`;

test("total, format, answer", () => {
  expect(agentR1Score([call, final("It is Paris")], "Paris")).toEqual({ total: 1, format: 1, answer: 1 });
  expect(agentR1Score([call, call, final("Rome")], "Paris")).toEqual({ total: 0, format: 1, answer: 0 });
  expect(agentR1Score([final("Paris")], "Paris")).toEqual({ total: 0.5, format: 0.5, answer: 1 });
  expect(agentR1Score([call, final("Rome", "not Paris")], "Paris")).toEqual({ total: 0.2, format: 1, answer: 0.2 });
  expect(agentR1Score(["Paris"], "Paris")).toEqual({ total: -1, format: 0, answer: 0.2 });
  expect(agentR1Score([], "Paris")).toEqual({ total: -1, format: 0, answer: 0 });
});

test("doubled tags pass the published expression only", () => {
  const doubled = ["<think>a</think><think>b</think><answer>Paris</answer>"];
  expect(agentR1Score(doubled, "Paris").format).toBe(0);
  expect(agentR1Score(doubled, "Paris", "published").format).toBe(0.5);
});

test("nothing throws and the total stays in range", () => {
  for (const text of randomTagTexts(10, 2000, ["think", "tool_call", "answer"])) {
    const { total } = agentR1Score([text, text], "a");
    expect(total).toBeGreaterThanOrEqual(-1);
    expect(total).toBeLessThanOrEqual(1);
  }
});
