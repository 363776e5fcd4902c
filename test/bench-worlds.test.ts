import { expect, test } from "vitest";
import { benchWorlds } from "../bench/worlds/envs.ts";
import { methods, plans, specOf } from "../bench/worlds/plans.ts";
import { rowOf, type WorldRun } from "../bench/worlds/results.ts";
import { RunSpec } from "../bench/worlds/spec.ts";
import { shippedEnvs } from "../src/env/environments/index.ts";

// figures of the browser are those of `npm run bench -- browser`; repositories run Python in boxes at every turn: nothing is trained on them there, nor on data-analyst yet
const notLearned = ["browser", "data-analyst", "guarded-desk", "nim", "office-skills", "repositories", "store-room"];
// recipes train on these
const inRecipes = ["craft-grid", "office-trials", "pictured-page", "project-rules", "reacher"];

test("every shipped environment is learned, and every plan has its world", () => {
  const learned = new Set(Object.keys(plans).map((world) => benchWorlds[world]?.make().name));
  expect([...learned].sort()).toEqual(
    Object.keys(shippedEnvs)
      .filter((name) => ![...notLearned, ...inRecipes].includes(name))
      .sort(),
  );
});

test.each(Object.keys(plans))("%s: what is run can be stored and compared", (world) => {
  for (const method of methods) {
    const spec = specOf(world, method, 3);
    expect(RunSpec.parse(JSON.parse(JSON.stringify(spec)))).toEqual(spec);
  }
  // other methods have as many rollouts from the same warm start; the ceiling has no random turns
  expect(specOf(world, "grpo", 3).warmStart).toEqual(specOf(world, "recommended", 3).warmStart);
  expect(specOf(world, "ceiling", 3)).toMatchObject({ warmStart: { noise: 0 } });
  expect(specOf(world, "ceiling", 3).learn).toBeUndefined();
});

test("a row is the mean over seeds, with Student's interval", () => {
  const run = (seed: number, after: number): WorldRun => {
    const interval = (mean: number) => ({ mean, low: mean, high: mean });
    const times = { seconds: 10, warmSeconds: 4, learnSeconds: 6 };
    const outcome = { before: interval(0.4), beforeReward: 0.4, after: interval(after), rollouts: 100, ...times };
    const rest = { parameters: 5, curve: [], reason: "finished" };
    const about = { date: "", commit: "", processor: "", cores: 2 };
    return {
      method: "recommended",
      spec: specOf("lock", "recommended", seed),
      outcome: { ...outcome, ...rest },
      about,
      jobs: 1,
    };
  };
  expect(rowOf([])).toBeUndefined();
  // the deviation of 0.8, 0.9 and 1 is 0.1, the quantile of two degrees of freedom 4.303
  expect(rowOf([run(0, 0.8), run(1, 0.9), run(2, 1)])).toMatchObject({
    before: 0.4,
    after: 0.9,
    low: 0.652,
    high: 1,
    seeds: 3,
    engine: "embedded",
    method: "grpo, 4 mini-batches",
  });
});
