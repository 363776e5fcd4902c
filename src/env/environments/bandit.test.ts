import { expect, test } from "vitest";
import type { Env } from "../env.ts";
import { type BanditOptions, bandit } from "./bandit.ts";
import { playEpisode } from "./testing/play-episode.ts";

async function scoresOf(answer: string, options: Partial<BanditOptions> = {}, split = "train") {
  const env = bandit(options);
  const results = [];
  for (let i = 0; i < 400; i++) results.push(await playEpisode(env, await env.tasks.at(split, i), [answer]));
  return results.map(({ scores }) => scores.agent);
}

test("the low arm always pays 0.1 and is never a success", async () => {
  const scores = await scoresOf("Phoenix");
  expect(new Set(scores.map(({ total }) => total))).toEqual(new Set([0.1]));
  expect(scores.some(({ success }) => success)).toBe(false);
  expect((await scoresOf("phoenix", { low: 0.15 }))[0].total).toBe(0.15);
});

test("the high arm pays 1 in a quarter of the tasks and is always a success", async () => {
  const scores = await scoresOf(" dragon\n");
  expect(new Set(scores.map(({ total }) => total))).toEqual(new Set([0, 1]));
  const share = scores.filter(({ total }) => total === 1).length / scores.length;
  expect(share).toBeGreaterThan(0.19);
  expect(share).toBeLessThan(0.31);
  expect(scores.every(({ success }) => success)).toBe(true);
});

test("tests have names that training does not show", async () => {
  expect((await scoresOf("Librarian", {}, "test")).every(({ success }) => success)).toBe(true);
  expect((await scoresOf("Trader", {}, "test"))[0]).toMatchObject({ total: 0.1, success: false });
});

test("reversed, Phoenix is the arm to pull", async () => {
  expect((await scoresOf("Phoenix", { isReversed: true })).every(({ success }) => success)).toBe(true);
  expect((await scoresOf("Dragon", { isReversed: true }))[0].total).toBe(0.1);
});

test("an answer that names no arm costs 0.1", async () => {
  const scores = await scoresOf("Phoenix or Dragon");
  expect(scores[0]).toMatchObject({ total: -0.1, success: false });
});

test("either name may come first, and both styles tell both", async () => {
  const heardFrom = async (env: Env<unknown, unknown>) => {
    const heard = new Set<string>();
    for (let i = 0; i < 20; i++) heard.add((await playEpisode(env, await env.tasks.at("train", i), [])).heard[0]);
    return [...heard].sort();
  };
  expect(await heardFrom(bandit() as Env)).toEqual(["Dragon or Phoenix?", "Phoenix or Dragon?"]);
  expect((await heardFrom(bandit({ style: "tags" }) as Env)).join()).toContain("named Phoenix and Dragon");
});

test("the pulled arm and its points are told", async () => {
  const env = bandit({ style: "tags" });
  const { turns } = await playEpisode(env, await env.tasks.at("train", 0), [
    "<think>sure</think><answer>Phoenix</answer>",
  ]);
  expect(turns[0].observation).toBe("Phoenix: 0.1 points");
});
