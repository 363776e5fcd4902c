import { expect, test } from "vitest";
import { checkEnv } from "../check-env.ts";
import { nim } from "./nim.ts";
import { playEpisode } from "./testing/play-episode.ts";

const task = (heaps: readonly number[]) => ({ id: "t", seed: 0, data: { heaps } });

test("two roles take turns, and whoever takes the last stone wins", async () => {
  const { scores, heard } = await playEpisode(nim(), task([1, 2]), ["b1", "a1", "b1"]);
  expect(heard).toEqual(["1 2", "1 1", "0 1"]);
  expect([scores.player.success, scores.opponent.success]).toEqual([true, false]);
  const lost = await playEpisode(nim(), task([1, 2]), ["b2", "a1"]);
  expect([lost.scores.player.success, lost.scores.opponent.success]).toEqual([false, true]);
});

test.each(["c1", "b3", "", "take two", "a0", "a1 b1"])("a move that there is not, %j, loses", async (says) => {
  const { scores } = await playEpisode(nim(), task([1, 2]), [says]);
  expect(scores.player.success).toBe(false);
});

test("who never errs beats a random opponent and another one like itself, for it begins in a position that can be won", async () => {
  for (const opponent of ["random", "perfect"] as const) {
    const env = nim({ opponent });
    for (let i = 0; i < 20; i++) {
      const { scores } = await playEpisode(env, await env.tasks.at("train", i), "expert");
      expect(scores.player.success).toBe(true);
    }
  }
});

test("random moves win seldom against a perfect opponent", async () => {
  const env = nim({ opponent: "perfect" });
  const say = (heaps: string) => `${"abc"[heaps.split(" ").findIndex((heap) => heap !== "0")]}1`;
  let wins = 0;
  for (let i = 0; i < 30; i++) {
    const { data } = await env.tasks.at("train", i);
    // always one stone of the first heap: no strategy
    const says = Array.from({ length: 9 }, () => say(data.heaps.join(" ")));
    if ((await playEpisode(env, task(data.heaps), says)).scores.player.success) wins++;
  }
  expect(wins).toBeLessThan(15);
});

test("keeps the promises of environments, in both styles and against everybody", async () => {
  for (const style of ["compact", "tags"] as const) {
    for (const opponent of ["policy", "random", "perfect"] as const) {
      const { findings } = await checkEnv(nim({ style, opponent }), { tasks: 2, timeoutMs: 10_000 });
      expect(findings.filter(({ isWarning }) => !isWarning)).toEqual([]);
    }
  }
});

test("options that make no game are refused", () => {
  expect(() => nim({ heaps: 1 })).toThrow();
  expect(() => nim({ opponent: "nobody" as never })).toThrow(/policy/);
  expect(() => nim({ heapz: 3 } as never)).toThrow(/heaps/);
});
