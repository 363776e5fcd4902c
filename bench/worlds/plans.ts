import type { RunSpec } from "./spec.ts";

/** How a world is learned: what the table of `npm run worlds` is made with. Chosen with `--validate`, with seed 100. */
export interface WorldPlan {
  readonly engine: RunSpec["engine"];
  readonly size: RunSpec["size"];
  /** 320 by default. */
  readonly tokenizer?: RunSpec["tokenizer"];
  readonly warmStart: RunSpec["warmStart"];
  readonly learn: NonNullable<RunSpec["learn"]>;
  /** Success that is wanted on held-out tasks. */
  readonly goal: number;
}

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
  warmStart: { ...imitation, demonstrations: 30_000, steps: 1500, learningRate: 1.5e-3 },
  learn: { method: "grpo", options: fourParts, learningRate: 5e-4, steps: 150, tasksPerStep: 64 },
};

/** Texts of several hundred tokens, or maps that take more steps to learn: on a GPU. */
const long: Omit<WorldPlan, "goal"> = {
  engine: "cuda",
  size: "5M",
  warmStart: { ...imitation, batchSize: 128, demonstrations: 40_000, steps: 2000, learningRate: 1e-3 },
  learn: { method: "grpo", options: fourParts, learningRate: 1.5e-4, steps: 100, tasksPerStep: 128 },
};

function noisy(plan: Omit<WorldPlan, "goal">, noise: number, demonstrations = plan.warmStart.demonstrations) {
  return { ...plan, warmStart: { ...plan.warmStart, noise, demonstrations } };
}

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
  screen: { ...noisy(middle, 0.6), goal: 0.9 },
  "sokoban-5": { ...noisy(long, 0.85), goal: 0.9 },
  "sokoban-10": { ...noisy(long, 0.8), goal: 0.9 },
  lake: { ...noisy(long, 0.85), goal: 0.9 },
  ice: { ...noisy(long, 0.9), goal: 0.47 },
  // digits one by one: pairs of them as one token make sums harder to learn
  "countdown-3-working": { ...noisy(long, 0.55, 60_000), tokenizer: "bytes", goal: 0.9 },
  "mini-forms": { ...noisy(long, 0.8, 60_000), goal: 0.9 },
  "screen-episodes": { ...noisy(long, 0.5), goal: 0.9 },
  household: { ...noisy(long, 0.78, 12_000), goal: 0.9 },
  "web-shop": { ...noisy(long, 0.6, 20_000), goal: 0.9 },
  retail: { ...noisy(long, 0.6, 20_000), goal: 0.9 },
};

export const methods = ["recommended", "grpo", "ppo", "rejection-tuning", "ceiling"] as const;
export type Method = (typeof methods)[number];

export function specOf(world: string, method: Method, seed: number): RunSpec {
  const { engine, size, tokenizer = 320, warmStart, learn } = plans[world];
  const base = { world, seed, engine, size, tokenizer, evalTasks: 500 } as const;
  switch (method) {
    case "recommended":
      return { ...base, warmStart, learn };
    case "ceiling":
      return { ...base, warmStart: { ...warmStart, noise: 0 } };
    default: {
      // the preset as it is, for as many rollouts
      const { steps, tasksPerStep } = learn;
      return { ...base, warmStart, learn: { method, options: {}, steps, tasksPerStep } };
    }
  }
}
