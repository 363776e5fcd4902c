import { describe, expect, test } from "vitest";
import { randomTagTexts } from "./testing/random-tag-texts.ts";
import { hasToolRlFormat, type ToolRlOptions, toolRlScore } from "./toolrl.ts";

const call = (name: string, parameters: object) => JSON.stringify({ name, parameters });
const right = call("get_weather", { city: "Paris", unit: "C" });
const turn = (...calls: string[]) => `<think>hm</think>\n<tool_call>\n${calls.join("\n")}\n</tool_call>`;
const reference = { calls: [{ name: "get_weather", parameters: { city: "Paris", unit: "C" } }], responds: false };
const score = (text: string, options: Partial<ToolRlOptions> = {}) => {
  const { total, format, correctness } = toolRlScore(text, reference, options);
  return [total, format, correctness];
};

describe("golden scores: total, format, correctness", () => {
  test.each([
    ["exact", turn(right), [4, 1, 3]],
    ["exact, keys in another order", turn(call("get_weather", { unit: "C", city: "Paris" })), [4, 1, 3]],
    ["wrong value", turn(call("get_weather", { city: "Rome", unit: "C" })), [2.5, 1, 1.5]],
    ["missing parameter", turn(call("get_weather", { city: "Paris" })), [1.75, 1, 0.75]],
    ["wrong tool", turn(call("get_news", { city: "Paris", unit: "C" })), [-2, 1, -3]],
    ["bad JSON", turn("{'name': 'get_weather'}"), [-2, 1, -3]],
    ["one redundant call", turn(right, right), [3.25, 1, 2.25]],
    ["no thought", turn(right).split("\n").slice(1).join("\n"), [3, 0, 3]],
  ])("%s", (_, text, expected) => expect(score(text)).toEqual(expected));
});

test("parameter names count by what is shared over all of them", () => {
  // 1 for the tool, 1 of 3 names, 1 value, out of 4
  expect(score(turn(call("get_weather", { city: "Paris", x: 1 })))[2]).toBeCloseTo(0.5, 12);
});

test("scales over training", () => {
  const at = (scale: ToolRlOptions["scale"], step: number) => score(turn(right), { scale, step }).slice(1);
  expect(at("max1", 0)).toEqual([1, 1]);
  expect([at("two-stage", 29), at("two-stage", 30)]).toEqual([
    [1, 1],
    [0.5, 3],
  ]);
  expect([at("smooth", 0), at("smooth", 75), at("smooth", 150), at("smooth", 300)]).toEqual([
    [2, 2],
    [1.5, 2.5],
    [1, 3],
    [1, 3],
  ]);
  expect(score("nothing", { scale: "smooth", step: 0 })).toEqual([-4, -2, -2]);
  expect(score("nothing", { scale: "smooth", step: 150 })).toEqual([-4, -1, -3]);
});

test("granularity", () => {
  const missing = turn(call("get_weather", { city: "Paris" }));
  const of = (text: string, granularity: ToolRlOptions["granularity"]) => score(text, { granularity })[2];
  expect([of(missing, "fine"), of(missing, "refined"), of(missing, "intermediate"), of(missing, "coarse")]).toEqual([
    0.75, 0, 0, -3,
  ]);
  const twice = turn(right, right);
  expect([of(twice, "fine"), of(twice, "refined"), of(twice, "intermediate"), of(twice, "coarse")]).toEqual([
    2.25, 1.5, 1.5, -3,
  ]);
});

test("a reference without calls scores format alone", () => {
  const answer = { calls: [], responds: true };
  expect(toolRlScore("<think>a</think>\n<response>b</response>", answer).total).toBe(1);
  expect(toolRlScore("<think>a</think> <response>b</response>", answer).total).toBe(0);
  expect(toolRlScore("<think>a</think>", { calls: [], responds: false }).total).toBe(1);
});

test("length counts the words of the thought", () => {
  const words = (count: number) => `<think>${"w ".repeat(count)}</think>`;
  const of = (count: number, length: ToolRlOptions["length"], step = 0) =>
    toolRlScore(words(count), reference, { length, step }).length;
  // Python rounds 0.125 to 0.12
  expect([of(64, "fixed"), of(512, "fixed"), of(2000, "fixed"), of(64, "none")]).toEqual([0.12, 1, 1, 0]);
  expect([of(384, "growing"), of(384, "growing", 105)]).toEqual([1, 0.6]);
});

test("nested and doubled tags fail, nothing throws", () => {
  const both = { ...reference, responds: true };
  expect(hasToolRlFormat(`<think><think>x</think>\n${turn(right)}`, reference)).toBe(false);
  expect(hasToolRlFormat(`${turn(right)}\n${turn(right)}`, reference)).toBe(false);
  for (const text of randomTagTexts(4, 3000, ["think", "tool_call", "response"], [right, "\n", "[]", "null"])) {
    const { total, format } = toolRlScore(text, both);
    expect(Number.isFinite(total)).toBe(true);
    if (format === 1) expect(text.split("<think>")).toHaveLength(2);
  }
});
