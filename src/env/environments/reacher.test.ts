import { expect, test } from "vitest";
import { actionBins } from "../../policy/action-bins.ts";
import { checkEnv } from "../check-env.ts";
import { type ReacherOptions, reacher, reacherActions } from "./reacher.ts";
import { playEpisode } from "./testing/play-episode.ts";

const fine = actionBins(
  [
    [-0.5, -0.5],
    [0.5, 0.5],
  ],
  { range: "extremes" },
);
const task = (x: number, y: number) => ({ id: "t", seed: 0, data: { offset: [x, y] as const } });

async function success(options: Partial<ReacherOptions>): Promise<number> {
  const env = reacher(options);
  let solved = 0;
  for (let index = 0; index < 200; index++) {
    const { scores } = await playEpisode(env, await env.tasks.at("train", index), "expert");
    if (scores.agent.success) solved++;
  }
  return solved / 200;
}

test("a joint goes as far as it is told, up to its limit, and as the arm has it", async () => {
  const there = await playEpisode(reacher({ bins: fine }), task(0.3, -0.2), [fine.write([0.3, -0.2])]);
  expect([there.scores.agent.success, there.turns.length]).toEqual([true, 1]);
  const mirrored = { bins: fine, arm: { gain: [1, -0.5] as const } };
  const wrong = await playEpisode(reacher(mirrored), task(0.3, -0.2), [fine.write([0.3, -0.2])]);
  expect(wrong.scores.agent.success).toBe(false);
  const right = await playEpisode(reacher(mirrored), task(0.3, -0.2), [fine.write([0.3, 0.4])]);
  expect(right.scores.agent.success).toBe(true);
  const far = await playEpisode(reacher(), task(0.9, 0), [
    actionBins(
      [
        [-1, -1],
        [1, 1],
      ],
      { range: "extremes" },
    ).write([0.9, 0]),
  ]);
  expect(far.scores.agent.success).toBe(false);
});

test("what is no action moves nothing", async () => {
  const { heard, turns } = await playEpisode(reacher(), task(0.3, -0.2), ["left", "Ā", ""]);
  expect(new Set(heard).size).toBe(1);
  expect(turns.every(({ info }) => info?.isValid === false)).toBe(true);
});

test("with fine bins the expert gets there, with coarse ones rarely", async () => {
  const actions = reacherActions();
  expect(await success({ bins: actionBins(actions) })).toBeGreaterThan(0.98);
  expect(await success({ bins: actionBins(actions, { bins: 8 }) })).toBeLessThan(0.6);
});

test("outliers make bins between extremes wide, and hardly those between quantiles", async () => {
  const actions = reacherActions({ outlierShare: 0.005 });
  expect(Math.max(...actions.flat())).toBeGreaterThan(4);
  expect(actionBins(actions).bounds[0][1]).toBeLessThan(0.51);
  expect(await success({ bins: actionBins(actions) })).toBeGreaterThan(0.98);
  expect(await success({ bins: actionBins(actions, { range: "extremes" }) })).toBeLessThan(0.5);
});

test("keeps the promises of environments", async () => {
  expect((await checkEnv(reacher(), { tasks: 2, timeoutMs: 10_000 })).findings).toEqual([]);
});

test.each([
  { turns: 0 },
  { tolerance: 0 },
  { tolerance: Number.NaN },
  { outlierShare: 2 },
  { arm: { gain: [0, 1] } },
  { bins: actionBins([[0], [1]]) },
  { arms: 2 },
])("refuses %j", (options) => {
  expect(() => reacher(options as object)).toThrow();
});
