import { expect, test } from "vitest";
import { countdownReward } from "./countdown-reward.ts";
import { fakeEpisode } from "./testing/fake-episode.ts";

test("TinyZero reads the last turn's tag, RAGEN the answer", async () => {
  const puzzle = () => ({ numbers: [2, 3, 4], target: 20 });
  const totalsOf = async (equation: string) => {
    const episode = fakeEpisode({}, [`<answer>${equation}</answer>`], { answer: equation });
    return [
      (await countdownReward(puzzle)(episode)).total,
      (await countdownReward(puzzle, { rule: "ragen" })(episode)).total,
    ];
  };
  expect(await totalsOf("(2 + 3) * 4")).toEqual([1, 1]);
  expect(await totalsOf("2 + 3 * 4")).toEqual([0.1, 0.1]);
  expect(await totalsOf("4 * 5")).toEqual([0.1, 0]);
  expect((await countdownReward(puzzle)(fakeEpisode({}, ["(2 + 3) * 4"]))).total).toBe(0);
});
