import { expect, test } from "vitest";
import { type FormatOptions, format } from "./format.ts";
import { fakeEpisode } from "./testing/fake-episode.ts";

const good = "<think>a</think>\n<answer>b</answer>\n";
const totalOf = async (turns: readonly string[], options: Partial<FormatOptions> = {}) =>
  (await format(["think", "answer"], options)(fakeEpisode({}, turns))).total;

test("every turn, a share of them, or the last", async () => {
  expect(await totalOf([good, good])).toBe(1);
  expect(await totalOf(["b", good])).toBe(0);
  expect(await totalOf(["b", good], { turns: "share" })).toBe(0.5);
  expect(await totalOf(["b", good], { turns: "last" })).toBe(1);
  expect(await totalOf([])).toBe(0);
});

test("tags that are nested or doubled fail", async () => {
  expect(await totalOf(["<think>a<answer>b</answer></think>"])).toBe(0);
  expect(await totalOf([`${good}${good}`])).toBe(0);
});

test("the weight", async () => {
  expect(await totalOf([good], { weight: 0.2 })).toBe(0.2);
  expect(format([], { weight: 0.2 }).range).toEqual([0, 0.2]);
  expect(format([], { weight: -0.2 }).range).toEqual([-0.2, 0]);
});
