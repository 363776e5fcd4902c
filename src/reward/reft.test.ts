import { expect, test } from "vitest";
import { reft } from "./reft.ts";
import { fakeEpisode } from "./testing/fake-episode.ts";

test("1, 0.1, 0", async () => {
  const reward = reft((task: string) => task);
  const totals = ["\\boxed{4}", "\\boxed{5}", "five"].map(
    async (text) => (await reward(fakeEpisode("4", [text]))).total,
  );
  expect(await Promise.all(totals)).toEqual([1, 0.1, 0]);
  const words = reft((task: string) => task, { extract: (text) => /is (\w+)/.exec(text)?.[1] ?? null });
  expect((await words(fakeEpisode("4", ["it is 4"]))).success).toBe(true);
});
