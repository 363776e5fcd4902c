import { z } from "zod";

/** One training run: everything that its result depends on, besides the machine and the code. */
export const RunSpec = z.object({
  world: z.string(),
  seed: z.int().min(0),
  engine: z.enum(["embedded", "cuda"]),
  size: z.enum(["0.3M", "0.8M", "5M", "25M", "100M"]),
  tokenizer: z.union([z.literal("bytes"), z.int()]),
  threads: z.int().optional(),
  warmStart: z.object({
    demonstrations: z.int(),
    noise: z.union([z.number(), z.array(z.number())]),
    /** Whether demonstrations that missed their goal are left out. */
    onlySuccesses: z.boolean().optional(),
    steps: z.int(),
    batchSize: z.int(),
    learningRate: z.number(),
  }),
  /** Without it the run ends after the warm start: an imitation ceiling. */
  learn: z
    .object({
      method: z.enum(["grpo", "recommended", "rloo", "ppo", "rejection-tuning"]),
      options: z.record(z.string(), z.unknown()),
      /** A rate that falls along half a cosine to a tenth; the method's default where it is absent. */
      learningRate: z.number().optional(),
      /** Which tasks come next; all in turn where it is absent. */
      guide: z.literal("learnability").optional(),
      steps: z.int(),
      tasksPerStep: z.int(),
      seconds: z.number().optional(),
    })
    .optional(),
  evalTasks: z.int(),
  /** Attempts at each of 200 held-out tasks once more at the end, for pass^k. */
  passAttempts: z.int().optional(),
  /** Evaluated on other held-out tasks than those that are reported: settings are chosen so. */
  isValidation: z.boolean().optional(),
});
export type RunSpec = z.infer<typeof RunSpec>;

const Interval = z.object({ mean: z.number(), low: z.number(), high: z.number() });

export const RunOutcome = z.object({
  /** Success on held-out tasks after the warm start; `reward` is the mean score. */
  before: Interval,
  beforeReward: z.number(),
  /** The same at temperature 0.1; of ceilings only. */
  cold: z.number().optional(),
  after: Interval.optional(),
  afterReward: z.number().optional(),
  /** Share of tasks that all attempts solve, where the specification asks for several. */
  passHat: z.number().optional(),
  rollouts: z.int(),
  /** Of the whole run, evaluations included; demonstrations and imitation; learning. */
  seconds: z.number(),
  warmSeconds: z.number(),
  learnSeconds: z.number(),
  parameters: z.int(),
  /** Success in training, every so many steps. */
  curve: z.array(z.number()),
  /** Divergence per token within a step (k3), mean over the first ten steps; where a step has several updates. */
  klPerStep: z.number().optional(),
  reason: z.string(),
});
export type RunOutcome = z.infer<typeof RunOutcome>;
