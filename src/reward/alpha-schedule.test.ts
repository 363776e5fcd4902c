import { expect, test } from "vitest";
import { alphaSchedule } from "./alpha-schedule.ts";
import { exactMatch } from "./exact-match.ts";
import { fakeEpisode } from "./testing/fake-episode.ts";

test("from steps to the outcome as training goes on", async () => {
  let progress = 0;
  const reward = alphaSchedule<string>({
    outcome: exactMatch((task: string) => task),
    steps: ({ turns }) => turns.map((_, turn) => (turn === 0 ? 1 : 0)),
    progress: () => progress,
  });
  const episode = fakeEpisode("4", ["a", "4"]);
  const early = await reward(episode);
  expect(early.parts.outcome).toBe(0.3);
  expect(early.parts.steps).toBeCloseTo(0.35, 12);
  expect(early.success).toBe(true);
  progress = 0.5;
  expect((await reward(episode)).total).toBeCloseTo(0.85, 12);
  progress = 1;
  expect((await reward(episode)).total).toBe(1);
  progress = 1.5;
  await expect(reward(episode)).rejects.toThrow("progress-out-of-range");
});
