import { defined } from "../../src/defined.ts";
import type { RunSpec } from "./spec.ts";

/** How a world is learned: what the table of `npm run worlds` is made with. Chosen with `--validate`, with seed 100. */
export interface WorldPlan {
  readonly engine: RunSpec["engine"];
  readonly size: RunSpec["size"];
  /** 320 by default; with 640, most words are one token. */
  readonly tokenizer?: RunSpec["tokenizer"];
  readonly warmStart: RunSpec["warmStart"];
  readonly learn: NonNullable<RunSpec["learn"]>;
  /** What is wanted on held-out tasks. */
  readonly goal: number;
  /** Of what: success by default, or the mean score. */
  readonly measure?: "score";
  /** For pass^k, beside it. */
  readonly passAttempts?: number;
}

type Noise = RunSpec["warmStart"]["noise"];

const imitation = { noise: 0.6, batchSize: 64, learningRate: 2e-3 };
const fourParts = { miniBatches: 4 };

const short: Omit<WorldPlan, "goal"> = {
  engine: "embedded",
  size: "0.3M",
  warmStart: { ...imitation, demonstrations: 10_000, steps: 400 },
  learn: { method: "grpo", options: fourParts, learningRate: 5e-4, steps: 60, tasksPerStep: 64 },
};

const middle: Omit<WorldPlan, "goal"> = {
  engine: "embedded",
  size: "0.8M",
  warmStart: { ...imitation, demonstrations: 40_000, steps: 3000, learningRate: 1.5e-3 },
  learn: { method: "grpo", options: fourParts, learningRate: 3e-4, steps: 150, tasksPerStep: 64 },
};

/** Texts of several hundred tokens, or maps that take more steps to learn: on a GPU. */
const long: Omit<WorldPlan, "goal"> = {
  engine: "cuda",
  size: "5M",
  warmStart: { ...imitation, batchSize: 128, demonstrations: 40_000, steps: 2500, learningRate: 1e-3 },
  learn: { method: "grpo", options: fourParts, learningRate: 2e-4, steps: 80, tasksPerStep: 128 },
};

function noisy(
  plan: Omit<WorldPlan, "goal">,
  noise: Noise,
  demonstrations = plan.warmStart.demonstrations,
  steps = plan.warmStart.steps,
  learningRate = plan.warmStart.learningRate,
) {
  return { ...plan, warmStart: { ...plan.warmStart, noise, demonstrations, steps, learningRate } };
}

/** Good and random demonstrations in turn. */
const half: Noise = [0, 1];
/** Two of five are good. */
const fewer: Noise = [0, 1, 0, 1, 1];

/** By the names in `envs.ts`; in the order of the table. */
export const plans: Readonly<Record<string, WorldPlan>> = {
  // the low arm pays every time: advantages divided by a group's deviation would prefer it
  bandit: {
    ...noisy(short, 1, 500),
    warmStart: { ...imitation, noise: 1, demonstrations: 500, steps: 60 },
    learn: { ...short.learn, method: "rloo", steps: 30 },
    goal: 0.9,
  },
  lock: {
    ...short,
    learn: { ...short.learn, steps: 300 },
    warmStart: { ...imitation, noise: 0.55, demonstrations: 20_000, steps: 1500 },
    goal: 0.9,
  },
  "key-door": { ...noisy(short, 0.6), learn: { ...short.learn, steps: 20 }, goal: 0.9 },
  "search-qa": {
    ...short,
    warmStart: { ...imitation, noise: 0.55, onlySuccesses: true, demonstrations: 8000, steps: 1000 },
    learn: { ...short.learn, steps: 120 },
    goal: 0.9,
  },
  "function-calling": { ...middle, goal: 0.9 },
  "sokoban-5": {
    ...short,
    warmStart: { ...imitation, noise: fewer, demonstrations: 70_000, steps: 5500 },
    learn: { ...short.learn, steps: 120 },
    goal: 0.9,
  },
  "sokoban-10": { ...noisy(long, fewer, 80_000, 8000), learn: { ...long.learn, steps: 250 }, goal: 0.9 },
  ice: {
    ...noisy(short, half, 20_000),
    warmStart: { ...imitation, noise: half, demonstrations: 20_000, steps: 2000 },
    learn: { ...short.learn, steps: 150 },
    goal: 0.47,
  },
  lake: { ...noisy(long, half, 80_000, 8000), learn: { ...long.learn, steps: 500 }, goal: 0.9 },
  // 5M parameters do not find out in as many steps which label the instruction means; 0.8M do
  screen: {
    ...long,
    size: "0.8M",
    warmStart: { ...long.warmStart, noise: 0.65, demonstrations: 120_000, steps: 7000, learningRate: 1.5e-3 },
    learn: { ...long.learn, learningRate: 3e-4, steps: 60 },
    goal: 0.9,
  },
  // digits one by one: pairs of them as one token make sums harder to learn
  "countdown-3-working": {
    ...noisy(long, 0.5, 150_000, 10_000),
    learn: { ...long.learn, steps: 500 },
    tokenizer: "bytes",
    goal: 0.9,
  },
  // noise in every turn, of which most can be made good: random episodes are longer, so that of good and random ones in turn most turns are random
  "mini-forms": {
    ...noisy(long, 0.75, 150_000, 5000, 7e-4),
    learn: { ...long.learn, steps: 50 },
    tokenizer: 640,
    goal: 0.9,
  },
  "screen-episodes": {
    ...noisy(long, 0.55, 40_000, 4000, 7e-4),
    learn: { ...long.learn, steps: 40 },
    tokenizer: 640,
    goal: 0.9,
  },
  household: { ...noisy(long, half, 20_000, 4000), tokenizer: 640, goal: 0.9 },
  "web-shop": { ...noisy(long, half, 30_000, 4000), tokenizer: 640, goal: 0.9, measure: "score" },
  retail: { ...noisy(long, half, 20_000, 4000), tokenizer: 640, goal: 0.9, passAttempts: 4 },
};

/** "recommended" is the plan's, with its learning rate; "preset" is `recommended()` with no options. */
export const methods = ["recommended", "preset", "grpo", "ppo", "rejection-tuning", "ceiling"] as const;
export type Method = (typeof methods)[number];

export function specOf(world: string, method: Method, seed: number): RunSpec {
  const { engine, size, tokenizer = 320, warmStart, learn, passAttempts } = plans[world];
  const base = { world, seed, engine, size, tokenizer, evalTasks: 500, ...defined({ passAttempts }) } as const;
  switch (method) {
    case "recommended":
      return { ...base, warmStart, learn };
    case "ceiling":
      return { ...base, warmStart: { ...warmStart, noise: 0 } };
    default: {
      // the preset as it is, for as many rollouts
      const { steps, tasksPerStep } = learn;
      const preset = method === "preset" ? "recommended" : method;
      return { ...base, warmStart, learn: { method: preset, options: {}, steps, tasksPerStep } };
    }
  }
}
