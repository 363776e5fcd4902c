// What the benchmark and its child processes say to each other: one JSON object per line, a reply for every request.
// bench/baselines/protocol.py speaks the same. Axes: `B` rows, `T` tokens of a row.

import { z } from "zod";

/** A folder that both sides load, so that they start from the same weights; or a Hugging Face config, for speed alone. */
const Model = z.union([z.object({ folder: z.string() }), z.object({ config: z.record(z.string(), z.unknown()) })]);

/** What is measured. Rows and prompts are random, and the same on both sides. */
const Workload = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("train"),
    model: Model,
    /** One token more than is computed: the last one is only predicted. */
    tokens_B_T: z.array(z.array(z.number())),
    /** dLoss/dlogprob; index 0 is 0. */
    derivatives_B_T: z.array(z.array(z.number())),
  }),
  z.object({
    kind: z.literal("sample"),
    model: Model,
    prompts_B_T: z.array(z.array(z.number())),
    newTokens: z.number(),
  }),
  z.object({
    kind: z.literal("grpo-step"),
    model: Model,
    prompts: z.array(z.string()),
    groupSize: z.number(),
    maxTokens: z.number(),
    temperature: z.number(),
    learningRate: z.number(),
    maxGradientNorm: z.number(),
  }),
  z.object({
    kind: z.literal("turns-step"),
    model: Model,
    /** Taken in turn, `tasksPerStep` a step. */
    tasks: z.array(z.object({ question: z.string(), queries: z.array(z.string()) })),
    /** What the tool answers, by query; anything else finds nothing. */
    facts: z.record(z.string(), z.string()),
    tasksPerStep: z.number(),
    groupSize: z.number(),
    turns: z.number(),
    /** New tokens of a turn at most. */
    turnTokens: z.number(),
    /** Of all turns with what the tool answered between them, at most. */
    maxCompletionTokens: z.number(),
    temperature: z.number(),
    learningRate: z.number(),
    maxGradientNorm: z.number(),
  }),
  z.object({ kind: z.literal("gemm"), size: z.number() }),
]);
export type Workload = z.infer<typeof Workload>;
export type WorkloadOf<Kind extends Workload["kind"]> = Extract<Workload, { kind: Kind }>;

/** How a child computes it; each child knows some of them, and all know "default". */
const Variant = z.enum(["default", "compiled", "static-cache", "static-cache-compiled"]);
export type Variant = z.infer<typeof Variant>;

export const Request = z.discriminatedUnion("do", [
  z.object({ do: z.literal("prepare"), workload: Workload, variant: Variant, threads: z.number() }),
  z.object({ do: z.literal("run") }),
]);
export type Request = z.infer<typeof Request>;

export const Ready = z.object({ versions: z.record(z.string(), z.string()) });
export type Ready = z.infer<typeof Ready>;

/** One repetition of the workload. */
export const Run = z.object({
  seconds: z.number(),
  tokens: z.number(),
  /** A number that must be the same on both sides, where there is one: training gives the norm of the gradient. */
  check: z.number().optional(),
  /** What was done, for work that a policy decides on: it must be about the same on both sides. */
  counts: z.record(z.string(), z.number()).optional(),
  /** Seconds by stage, where they are known. */
  stages: z.record(z.string(), z.number()).optional(),
});
export type Run = z.infer<typeof Run>;

/** As the benchmark keeps it. */
export interface TimedRun extends Run {
  /** How many cores other processes kept busy meanwhile: near 0 where a time can be trusted. */
  coresOfOthers?: number;
  /** Of the child and all its threads: others in the way change it far less than they change `seconds`. */
  processorSeconds?: number;
}

export const Reply = z.union([Ready, Run, z.object({ error: z.string() })]);
export type Reply = z.infer<typeof Reply>;
