import { bandit } from "../../src/env/environments/bandit.ts";
import { countdown } from "../../src/env/environments/countdown.ts";
import { frozenLake } from "../../src/env/environments/frozen-lake.ts";
import { functionCalling } from "../../src/env/environments/function-calling.ts";
import { searchQa } from "../../src/env/environments/search-qa.ts";
import { sokoban } from "../../src/env/environments/sokoban.ts";
import { cosine, dapo, drGrpo, grpo, ppo, reinforcePlusPlus, rloo, starpoS } from "../../src/index.ts";
import type { Experiment } from "./experiment.ts";

const learningRate = 5e-4;
const warm = cosine(2e-3, 0.1);

/** What `npm run test:slow -- learning` trains. The first variant of each must have learned. */
export const experiments: Readonly<Record<string, Experiment>> = {
  bandit: {
    title: "Bandit",
    question:
      "A small sure payment or a rare large one. The demonstrations are random. Evaluated with the arms of training: the test's arms have names that a model made from nothing has never read.",
    env: bandit(),
    evalSplit: "train",
    warmStart: { demonstrations: 200, noise: 1, steps: 40, learningRate: warm },
    steps: 100,
    tasksPerStep: 32,
    variants: [
      { name: "REINFORCE++", algorithm: reinforcePlusPlus({ learningRate }) },
      { name: "PPO", algorithm: ppo({ learningRate, groupSize: 8 }) },
      { name: "Dr.GRPO", algorithm: drGrpo({ learningRate, length: 8 }) },
    ],
    atLeast: { after: 0.8 },
  },
  "frozen-lake": {
    title: "FrozenLake",
    question: "Maps of 4 x 4 with random start and goal, firm ice, several moves a turn.",
    env: frozenLake({ isSlippery: false }),
    warmStart: { demonstrations: 2000, noise: 0.4, steps: 300, learningRate: warm },
    steps: 150,
    tasksPerStep: 32,
    variants: [
      { name: "GRPO", algorithm: grpo({ learningRate: 3e-4 }) },
      { name: "StarPO-S", algorithm: starpoS({ learningRate: 3e-4, groupSize: 8, share: 0.5, miniBatches: 4 }) },
    ],
    atLeast: { gain: 0.1 },
  },
  sokoban: {
    title: "Sokoban, small",
    question: "Rooms of 6 x 6 with one box, solved in at most three moves.",
    env: sokoban({ maxSolution: 3 }),
    warmStart: { demonstrations: 3000, noise: 0.6, steps: 400, learningRate: warm },
    steps: 150,
    tasksPerStep: 32,
    variants: [{ name: "DAPO", algorithm: dapo({ learningRate: 3e-4, maxRefills: 1 }) }],
    atLeast: { gain: 0.05 },
  },
  countdown: {
    title: "Countdown",
    question:
      "Two numbers up to 40, any of the four operations. With numbers below ten there are so few tasks that they are learned by heart.",
    env: countdown({ counts: [2], maxNumber: 40, minTarget: 1, maxTarget: 1600 }),
    warmStart: { demonstrations: 4000, noise: 0.9, steps: 300, learningRate: warm },
    steps: 200,
    tasksPerStep: 32,
    variants: [{ name: "RLOO", algorithm: rloo({ learningRate: 2e-4 }) }],
    atLeast: { gain: 0.08 },
  },
  "function-calling": {
    title: "Function calling",
    question: "Requests to be met with the right calls of eight typed tools, or with none.",
    env: functionCalling(),
    warmStart: { demonstrations: 4000, noise: 0.3, steps: 500, learningRate: cosine(3e-3, 0.1) },
    steps: 100,
    tasksPerStep: 32,
    variants: [{ name: "GRPO", algorithm: grpo({ learningRate: 3e-4 }) }],
    atLeast: { gain: 0.1 },
  },
  "search-qa": {
    title: "Search-QA, and what matters",
    question:
      "Questions of one or two hops, each over knowledge of its own. Every variant has 256 rollouts a step for 60 steps, and apart from the last the same warm start.",
    env: searchQa({ entities: 40, maxHops: 2, kb: "per-task" }),
    warmStart: { demonstrations: 4000, noise: 0.3, steps: 500, learningRate: cosine(3e-3, 0.1) },
    steps: 60,
    tasksPerStep: 32,
    variants: [
      { name: "GRPO, groups of 8", algorithm: grpo({ learningRate }) },
      {
        name: "GRPO, observations not masked",
        algorithm: grpo({ learningRate }),
        unmasked: true,
      },
      { name: "PPO, shared critic", algorithm: ppo({ learningRate, groupSize: 8 }) },
      { name: "GRPO, groups of 2", algorithm: grpo({ learningRate, groupSize: 2 }), tasksPerStep: 128 },
      { name: "GRPO, groups of 4", algorithm: grpo({ learningRate, groupSize: 4 }), tasksPerStep: 64 },
      { name: "GRPO, groups of 16", algorithm: grpo({ learningRate, groupSize: 16 }), tasksPerStep: 16 },
      { name: "GRPO, no warm start", algorithm: grpo({ learningRate }), warmStart: false },
    ],
    atLeast: { after: 0.8 },
  },
};
