import { expect, test } from "vitest";
import { checkEnv } from "../check-env.ts";
import { goalDials } from "./goal-dials.ts";
import { playEpisode } from "./testing/play-episode.ts";

const task = (goal: string) => ({ id: "t", seed: 0, data: { goal } });

test("each digit turns the next dial to another one, until the goal is shown or all are set", async () => {
  const { heard, scores, stop } = await playEpisode(goalDials(), task("4719"), ["1", "4", "8", "6"]);
  expect(heard).toEqual(["____>4719", "4___>4719", "47__>4719", "471_>4719"]);
  expect([scores.agent.success, stop]).toEqual([true, "completed"]);
  const missed = await playEpisode(goalDials(), task("4719"), ["1", "4", "8", "7"]);
  expect([missed.scores.agent.success, missed.stop]).toEqual([false, "completed"]);
});

test("a goal of the first dials alone ends there", async () => {
  const { heard, scores } = await playEpisode(goalDials(), task("47__"), ["1", "4", "8", "6"]);
  expect([heard.length, scores.agent.success]).toEqual([2, true]);
});

test("what is no digit takes a turn and sets nothing", async () => {
  const { heard, scores, stop } = await playEpisode(goalDials({ base: 4 }), task("3210"), ["9", "-1", "", "12"]);
  expect(heard).toEqual(Array(4).fill("____>3210"));
  expect([scores.agent.total, stop]).toEqual([0, "max-turns"]);
});

test("the expert knows the rule", async () => {
  const env = goalDials({ dials: 3, base: 12, shift: 5 });
  for (let index = 0; index < 30; index++) {
    const { scores } = await playEpisode(env, await env.tasks.at("train", index), "expert");
    expect(scores.agent.success).toBe(true);
  }
});

test("tells which tasks an attempt would have solved", async () => {
  const env = goalDials();
  const { turns } = await playEpisode(env, task("4719"), ["0", "?", "9"]);
  expect(
    env.achieved(
      task("4719").data,
      turns.map((turn) => ({ ...turn, span: { start: 0, end: 0 } })),
    ),
  ).toEqual([{ goal: "3___" }, undefined, { goal: "32__" }]);
});

test("keeps the promises of environments", async () => {
  expect((await checkEnv(goalDials(), { tasks: 2, timeoutMs: 10_000 })).findings).toEqual([]);
});

test.each([{ dials: 0 }, { base: 1 }, { base: 37 }, { shift: 10 }, { dails: 3 }])("refuses %j", (options) => {
  expect(() => goalDials(options as object)).toThrow();
});
