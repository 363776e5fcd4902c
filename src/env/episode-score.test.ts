import { describe, expect, test } from "vitest";
import type { ScoreParts } from "./env.ts";
import { make, play } from "./fixtures/scripted-episode.ts";

describe("the final score", () => {
  const scored = async (given: () => unknown, rewards: readonly number[] = []) => {
    const score = given as () => ScoreParts;
    const env = make({ score, act: ({ turn }) => ({ reward: rewards[turn] ?? 0, done: turn + 1 >= rewards.length }) });
    return play(env, Array(Math.max(1, rewards.length)).fill("x"));
  };

  test.each([
    ["a number is the outcome", 1, [0.5], { total: 1.5, parts: { outcome: 1, turns: 0.5 }, success: true }],
    [
      "rewards of turns do not make a success",
      0.9,
      [5],
      { total: 5.9, parts: { outcome: 0.9, turns: 5 }, success: false },
    ],
    ["rewards that cancel out are shown", 0, [1, -1], { total: 0, parts: { outcome: 0, turns: 0 }, success: false }],
    ["no rewards, no part", 0, [0, 0], { total: 0, parts: { outcome: 0 }, success: false }],
    [
      "parts are added",
      { outcome: 1, speed: 0.5 },
      [],
      { total: 1.5, parts: { outcome: 1, speed: 0.5 }, success: true },
    ],
    [
      "without outcome their sum decides",
      { a: 0.5, b: 0.5 },
      [-3],
      { total: -2, parts: { a: 0.5, b: 0.5, turns: -3 }, success: true },
    ],
    ["nothing given: the turns' rewards", {}, [0.5, 0.5], { total: 1, parts: { turns: 1 }, success: true }],
    ["nothing at all", {}, [], { total: 0, parts: {}, success: false }],
    ["a part called turns is added to", { turns: 2 }, [1], { total: 3, parts: { turns: 3 }, success: true }],
    [
      "a whole score keeps its total and its success",
      { total: 3, parts: { outcome: 1 }, success: false },
      [1],
      { total: 4, parts: { outcome: 1, turns: 1 }, success: false },
    ],
    [
      "a whole score with a part called turns",
      { total: 2, parts: { turns: 2 }, success: true },
      [1],
      { total: 3, parts: { turns: 3 }, success: true },
    ],
  ])("%s", async (_, given, rewards, score) => {
    expect((await scored(() => given, rewards)).scores.agent).toEqual(score);
    expect((await scored(async () => given, rewards)).scores.agent).toEqual(score);
  });

  test.each([
    ["NaN", Number.NaN, []],
    ["an infinite part", { outcome: Number.POSITIVE_INFINITY }, []],
    ["a text for a part", { outcome: "1" }, []],
    ["a total that is not a number", { total: Number.NaN, parts: {}, success: true }, []],
    ["a reward that is not a number", 1, [Number.NaN]],
    ["a text", "1", []],
    ["a list", [1], []],
    ["null", null, []],
    ["nothing returned", undefined, []],
  ])("%s is a fault of the environment", async (_, given, rewards) => {
    for (const score of [() => given, async () => given]) {
      const played = await scored(score, rewards);
      expect(played).toMatchObject({ stop: "env-crash", failure: expect.stringContaining("score") });
      expect(played.scores.agent).toEqual({ total: 0, parts: {}, success: false });
    }
  });
});
