import { describe, expect, test } from "vitest";
import { bandit } from "../../src/env/environments/bandit.ts";
import { countdown } from "../../src/env/environments/countdown.ts";
import { frozenLake } from "../../src/env/environments/frozen-lake.ts";
import { functionCalling } from "../../src/env/environments/function-calling.ts";
import { searchQa } from "../../src/env/environments/search-qa.ts";
import { sokoban } from "../../src/env/environments/sokoban.ts";
import { cosine, dapo, drGrpo, grpo, ppo, reinforcePlusPlus, rloo } from "../../src/index.ts";
import { alsoOnObservations, compare, type Experiment, type Variant } from "./experiment.ts";
import { keep, meanOf } from "./report.ts";

const learningRate = 5e-4;
const minutes = 60_000;

async function learns<Data, State>(
  title: string,
  question: string,
  experiment: Experiment<Data, State>,
  variants: readonly Variant[],
) {
  const outcomes = await compare(experiment, variants);
  keep(title, question, outcomes);
  return outcomes;
}

describe("agents learn, three seeds each", () => {
  test("bandit", { timeout: 10 * minutes }, async () => {
    const outcomes = await learns(
      "Bandit",
      "A small sure payment or a rare large one; arms are named anew for the test. The demonstrations are random.",
      { env: bandit(), warmStart: { demonstrations: 200, noise: 1, steps: 40 }, steps: 60, tasksPerStep: 32 },
      [
        { name: "PPO", algorithm: ppo({ learningRate, groupSize: 8 }) },
        { name: "REINFORCE++", algorithm: reinforcePlusPlus({ learningRate }) },
        { name: "Dr.GRPO", algorithm: drGrpo({ learningRate, length: 8 }) },
      ],
    );
    expect(meanOf(outcomes.get("PPO")!, "training")).toBeGreaterThan(0.8);
  });

  test("frozen lake", { timeout: 15 * minutes }, async () => {
    const outcomes = await learns(
      "FrozenLake",
      "Maps of 4 x 4 with random start and goal, ice that is firm, several moves a turn.",
      {
        env: frozenLake({ isSlippery: false }),
        warmStart: { demonstrations: 1000, noise: 0.4, steps: 200, learningRate: cosine(2e-3, 0.1) },
        ...{ steps: 120, tasksPerStep: 32 },
      },
      [{ name: "GRPO", algorithm: grpo({ learningRate: 3e-4 }) }],
    );
    expect(meanOf(outcomes.get("GRPO")!, "after")).toBeGreaterThan(meanOf(outcomes.get("GRPO")!, "before") + 0.15);
  });

  test("sokoban", { timeout: 15 * minutes }, async () => {
    const outcomes = await learns(
      "Sokoban, small",
      "Rooms of 6 x 6 with one box, solved in at most five moves.",
      {
        env: sokoban({ maxSolution: 5 }),
        warmStart: { demonstrations: 1500, noise: 0.4, steps: 300, learningRate: cosine(2e-3, 0.1) },
        ...{ steps: 80, tasksPerStep: 32 },
      },
      [{ name: "DAPO", algorithm: dapo({ learningRate: 3e-4, maxRefills: 1 }) }],
    );
    expect(meanOf(outcomes.get("DAPO")!, "after")).toBeGreaterThan(meanOf(outcomes.get("DAPO")!, "before") + 0.05);
  });

  test("countdown", { timeout: 15 * minutes }, async () => {
    const outcomes = await learns(
      "Countdown",
      "Two numbers below ten, any of the four operations.",
      {
        env: countdown({ counts: [2], maxNumber: 9, minTarget: 1, maxTarget: 81 }),
        warmStart: { demonstrations: 500, noise: 0.5, steps: 200, learningRate: cosine(2e-3, 0.1) },
        ...{ steps: 100, tasksPerStep: 32 },
      },
      [{ name: "RLOO", algorithm: rloo({ learningRate }) }],
    );
    expect(meanOf(outcomes.get("RLOO")!, "after")).toBeGreaterThan(meanOf(outcomes.get("RLOO")!, "before") + 0.15);
  });

  test("function calling", { timeout: 15 * minutes }, async () => {
    const outcomes = await learns(
      "Function calling",
      "Requests to be met with the right calls of eight typed tools, or with none.",
      {
        env: functionCalling(),
        warmStart: { demonstrations: 3000, noise: 0.3, steps: 400, learningRate: cosine(3e-3, 0.1) },
        ...{ steps: 80, tasksPerStep: 32 },
      },
      [{ name: "GRPO", algorithm: grpo({ learningRate: 3e-4 }) }],
    );
    expect(meanOf(outcomes.get("GRPO")!, "after")).toBeGreaterThan(meanOf(outcomes.get("GRPO")!, "before") + 0.1);
  });
});

describe("laws of the craft", () => {
  const env = searchQa({ entities: 40, maxHops: 2 });
  const warmStart = { demonstrations: 4000, noise: 0.3, steps: 400, learningRate: cosine(3e-3, 0.1) };
  const experiment = { env, warmStart, steps: 60, tasksPerStep: 32 };

  test("search-QA: the mask, a critic, the size of groups, a warm start", { timeout: 60 * minutes }, async () => {
    const outcomes = await learns(
      "Search-QA and what matters",
      "Questions of one or two hops over 160 names. All variants but the last two have 256 rollouts a step, 60 steps.",
      experiment,
      [
        { name: "GRPO, groups of 8", algorithm: grpo({ learningRate }) },
        {
          name: "GRPO, observations not masked",
          algorithm: alsoOnObservations(grpo({ learningRate })),
          unmasked: true,
        },
        { name: "PPO, shared critic", algorithm: ppo({ learningRate, groupSize: 8 }) },
        { name: "GRPO, groups of 2", algorithm: grpo({ learningRate, groupSize: 2 }), tasksPerStep: 128 },
        { name: "GRPO, groups of 4", algorithm: grpo({ learningRate, groupSize: 4 }), tasksPerStep: 64 },
        { name: "GRPO, groups of 16", algorithm: grpo({ learningRate, groupSize: 16 }), tasksPerStep: 16 },
        { name: "GRPO, no warm start", algorithm: grpo({ learningRate }), warmStart: false },
      ],
    );
    expect(meanOf(outcomes.get("GRPO, groups of 8")!, "after")).toBeGreaterThan(0.7);
    expect(meanOf(outcomes.get("GRPO, no warm start")!, "after")).toBeLessThan(0.05);
  });
});
