import { expect, test } from "vitest";
import { subgoals } from "./subgoals.ts";
import { fakeEpisode } from "./testing/fake-episode.ts";

const reward = subgoals({
  goals: { key: 0.2, door: 0.3 },
  reached: ({ turns }) => turns.map(({ text }) => new Set(text.split(" "))),
});

test("each goal once, however often it is reached", async () => {
  expect(await reward(fakeEpisode({}, ["key", "", "key", "key"]))).toEqual({
    total: 0.2,
    parts: { key: 0.2, door: 0 },
    success: false,
  });
  expect(await reward(fakeEpisode({}, ["key", "key door"]))).toMatchObject({ total: 0.5, success: true });
});

test("what is no goal counts nothing", async () => {
  expect(await reward(fakeEpisode({}, ["window", "constructor"]))).toMatchObject({ total: 0 });
  expect(reward.range).toEqual([0, 0.5]);
});
