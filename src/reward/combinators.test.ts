import { expect, test } from "vitest";
import { agentR1 } from "./agent-r1.ts";
import { gated, mapTotal, weighted } from "./combinators.ts";
import { composite } from "./composite.ts";
import { exactMatch } from "./exact-match.ts";
import { format } from "./format.ts";
import type { Reward } from "./reward.ts";
import { fakeEpisode } from "./testing/fake-episode.ts";

const gold = (task: string) => task;
const good = fakeEpisode("4", ["<think>a</think><answer>4</answer>"], { answer: "4" });
const bare = fakeEpisode("4", ["4"]);

test("weighted: every part, and the range turned round by a negative weight", async () => {
  const cost = weighted(-0.5, exactMatch(gold));
  expect(await cost(good)).toEqual({ total: -0.5, parts: { outcome: -0.5 }, success: true });
  expect(await cost(fakeEpisode("4", ["5"]))).toEqual({ total: 0, parts: { outcome: 0 }, success: false });
  expect(cost.range).toEqual([-0.5, 0]);
});

test("gated: the second only where the first passes", async () => {
  const reward = gated(format(["think", "answer"]), exactMatch(gold));
  expect(await reward(good)).toEqual({ total: 2, parts: { gate: 1, outcome: 1 }, success: true });
  expect(await reward(bare)).toEqual({ total: 0, parts: { gate: 0, outcome: 0 }, success: false });
  const never: Reward<string> = () => {
    throw new Error("asked");
  };
  expect((await gated(format(["think", "answer"]), never)(bare)).total).toBe(0);
  const always = gated(format(["think", "answer"]), exactMatch(gold), () => true);
  expect((await always(bare)).total).toBe(1);
});

test("mapTotal: parts still add up", async () => {
  const reward = mapTotal(agentR1(gold), (total) => Math.max(0, total), [0, 1]);
  expect(await reward(bare)).toEqual({ total: 0, parts: { format: -1, outcome: 0, adjustment: 1 }, success: false });
});

test("warnings pass through all of them", () => {
  const heavy = composite({ outcome: weighted(0.1, exactMatch(gold)), format: format(["a"]) });
  expect(heavy.warnings).toHaveLength(1);
  for (const reward of [weighted(1, heavy), gated(format(["a"]), heavy), mapTotal(heavy, (total) => total, [0, 2])]) {
    expect(reward.warnings).toEqual(heavy.warnings);
  }
});
