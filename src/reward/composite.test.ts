import { expect, test } from "vitest";
import { makeScore } from "../schema/score.ts";
import { weighted } from "./combinators.ts";
import { composite } from "./composite.ts";
import { exactMatch } from "./exact-match.ts";
import { format } from "./format.ts";
import { linearLength } from "./length.ts";
import { makeReward, warningsOf } from "./make-reward.ts";
import { fakeEpisode } from "./testing/fake-episode.ts";

const gold = (task: string) => task;
const good = fakeEpisode("4", ["<think>a</think><answer>4</answer>"], { answer: "4" });

test("parts by name, success by the outcome", async () => {
  const reward = composite({ outcome: exactMatch(gold), format: weighted(0.2, format(["think", "answer"])) });
  expect(await reward(good)).toEqual({ total: 1.2, parts: { outcome: 1, format: 0.2 }, success: true });
  expect(await reward({ ...good, answer: "5" })).toEqual({
    total: 0.2,
    parts: { outcome: 0, format: 0.2 },
    success: false,
  });
  expect(reward.range).toEqual([0, 1.2]);
  expect(reward.warnings).toEqual([]);
});

test("an outcome below half of what can be had is warned of, from any depth", () => {
  const heavy = composite({
    outcome: exactMatch(gold),
    length: linearLength({ unit: "turns", target: 1, weight: 1, floor: -2 }),
  });
  expect(heavy.warnings).toEqual([expect.stringContaining('"outcome" makes up 33 %')]);
  const around = composite({ outcome: weighted(2, heavy), format: weighted(0.1, format(["answer"])) });
  expect(warningsOf(around)).toEqual(heavy.warnings);
  expect(warningsOf(() => 1)).toEqual([]);
  expect(warningsOf(undefined)).toEqual([]);
});

test("a total outside its range is an error, and a function's range can be given", async () => {
  const three = () => makeScore({ outcome: 3 });
  await expect(composite({ outcome: three })(good)).rejects.toThrow("reward-part-out-of-range");
  expect((await composite({ outcome: makeReward(three, { range: [0, 3] }) })(good)).total).toBe(3);
});

test("an outcome must be named", () => {
  // @ts-expect-error no part is called "outcome", and none is named
  expect(() => composite({ format: format(["a"]) })).toThrow("unknown-reward-part");
  expect(composite({ format: format(["a"]) }, { outcome: "format" }).warnings).toEqual([]);
});
