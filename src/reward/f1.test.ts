import { expect, test } from "vitest";
import { f1 } from "./f1.ts";
import { fakeEpisode } from "./testing/fake-episode.ts";

test("F1 of the words; only all of them are a success", async () => {
  const reward = f1((task: string) => task);
  // precision 1/2, recall 1
  const half = await reward(fakeEpisode("Paris", ["Paris France"]));
  expect(half.total).toBeCloseTo(2 / 3, 12);
  expect(half.success).toBe(false);
  expect(await reward(fakeEpisode("Paris", ["paris"]))).toMatchObject({ total: 1, success: true });
});
