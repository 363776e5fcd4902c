import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { Checkpoints } from "../checkpoint/checkpoints.ts";
import { bestStep, chooseStep } from "../checkpoint/choose-step.ts";
import { weightsHash } from "../checkpoint/weights-hash.ts";
import type { LoadOptions } from "../engine/engine.ts";
import { LudusError } from "../errors.ts";
import { addressedRuns, type RunCatalog, type RunReader } from "../store/index.ts";
import type { FromRun } from "./from-run.ts";
import type { LearningPolicy } from "./learning-policy.ts";
import type { TrainConfig } from "./train.ts";

/** Where a run's first weights came from, as it is stored with the run. */
export const Parent = z.object({
  /** The id it was named with. */
  run: z.string(),
  /** Tells it from another run that had the same id. */
  uid: z.string(),
  step: z.int(),
  /** SHA-256 of the weights. */
  weights: z.string(),
  /** The seed that its policy was made with. */
  seed: z.number(),
});
export type Parent = z.infer<typeof Parent>;

export interface FoundParent extends Parent {
  /** What is worth saying about it. */
  readonly warnings: readonly string[];
}

const Stored = z.object({
  seed: z.number().default(0),
  parent: Parent.optional(),
  env: z.object({ format: z.string().optional() }).optional(),
});

/** The seed that a stored run's policy was made with: a tokenizer made with another one would not fit its weights. */
export function policySeed(storedConfig: unknown): number {
  const stored = Stored.safeParse(storedConfig);
  return stored.success ? (stored.data.parent?.seed ?? stored.data.seed) : 0;
}

/** Where the run's weights come from: a run that is resumed knows, a new one is told by its configuration. */
export async function findParent<Data>(config: TrainConfig<Data>): Promise<FoundParent | undefined> {
  const { run, store: runs = addressedRuns(), warmStart } = config;
  if (warmStart === undefined || !isFromRun(warmStart)) return undefined;
  const isResumed = run !== undefined && new Checkpoints(runs.checkpointDirectory(run)).steps().length > 0;
  if (!isResumed) return readParent(runs, warmStart, config.env.format.name);
  const reader = await runs.open(run);
  try {
    const stored = Stored.safeParse(await reader.config());
    const parent = stored.success ? stored.data.parent : undefined;
    return parent === undefined ? undefined : { ...parent, warnings: [] };
  } finally {
    await reader.close();
  }
}

export function isFromRun(warmStart: { readonly name: string }): warmStart is FromRun {
  return warmStart.name === "from-run" && "run" in warmStart;
}

async function readParent(runs: RunCatalog, start: FromRun, format: string): Promise<FoundParent> {
  const reader = await runs.open(start.run);
  try {
    const checkpoints = new Checkpoints(runs.checkpointDirectory(start.run));
    const info = await runs.info(start.run);
    const step = await stepOf(reader, checkpoints, start, info?.isWritten === true);
    const stored = Stored.safeParse(await reader.config());
    const theirs = stored.success ? stored.data.env?.format : undefined;
    const warnings = [
      ...(info?.isWritten ? [`${start.run} is still being trained; this run starts from its step ${step}`] : []),
      ...(theirs !== undefined && theirs !== format
        ? [`${start.run} was trained with the format ${theirs}, and this run has ${format}`]
        : []),
    ];
    const seed = policySeed(await reader.config());
    const weights = hashOf(checkpoints, step, start.run);
    return { run: start.run, uid: info?.uid ?? "", step, weights, seed, warnings };
  } finally {
    await reader.close();
  }
}

function hashOf(checkpoints: Checkpoints, step: number, run: string): string {
  try {
    return weightsHash(checkpoints.directory(step));
  } catch (cause) {
    if (checkpoints.steps().includes(step)) throw cause;
    throw new LudusError("no-such-checkpoint", {
      got: `step ${step} of ${run}, which was removed while it was read`,
      expected: `one of ${checkpoints.steps().join(", ")}, best or last`,
      hint: "The run is still being trained, and retains its newest checkpoints. Try again.",
      cause,
    });
  }
}

async function stepOf(
  reader: RunReader,
  checkpoints: Checkpoints,
  { run, step: wanted }: FromRun,
  isWritten: boolean,
): Promise<number> {
  const steps = checkpoints.steps();
  if (steps.length === 0) {
    throw new LudusError("no-such-checkpoint", {
      got: `${run}, which has no checkpoint${isWritten ? " yet" : ""}`,
      expected: "a run with checkpoints",
      hint: isWritten
        ? "It is still being trained: wait for its first one."
        : "It ended before its first one was saved.",
    });
  }
  if (wanted === "best" && (await bestStep(reader)) === undefined) {
    throw new LudusError("no-such-checkpoint", {
      got: `the best checkpoint of ${run}, which was never evaluated on held-out tasks`,
      expected: `${steps.join(", ")} or last`,
      hint: "eval: { tasks, every } in the configuration evaluates it during training.",
    });
  }
  const step = await chooseStep(reader, checkpoints, wanted);
  if (step !== undefined) return step;
  throw new LudusError("no-such-checkpoint", {
    got: `step ${wanted} of ${run}`,
    expected: `one of ${steps.join(", ")}, best or last`,
    hint: "save: { retain, retainEvery } in its configuration says which are retained.",
  });
}

/** Puts the parent's weights into the policy, whose tokenizer must be the one they were trained with. */
export async function loadParent(
  policy: LearningPolicy,
  { run, step }: Parent,
  runs: RunCatalog = addressedRuns(),
  options: LoadOptions = {},
): Promise<void> {
  const checkpoints = new Checkpoints(runs.checkpointDirectory(run));
  checkTokenizer(policy, checkpoints.directory(step), `${run}, step ${step}`);
  try {
    await checkpoints.load(policy.engine, step, options);
  } catch (error) {
    if (!(error instanceof LudusError) || error.code !== "checkpoint-damaged") throw error;
    const others = checkpoints.steps().filter((other) => other !== step);
    throw new LudusError("checkpoint-damaged", {
      ...error.details,
      hint: others.length === 0 ? `${run} has no other checkpoint.` : `Start from another step: ${others.join(", ")}.`,
      cause: error,
    });
  }
}

const tokenizerFile = "tokenizer.json";

function checkTokenizer({ tokenizer }: LearningPolicy, directory: string, name: string): void {
  const path = join(directory, tokenizerFile);
  const ours = tokenizer?.files()[tokenizerFile];
  if (ours === undefined || !existsSync(path)) return;
  const theirs = readFileSync(path, "utf8");
  if (theirs === ours) return;
  throw new LudusError("other-tokenizer", {
    got: `${name}, whose tokenizer has ${described(theirs)}`,
    expected: `the tokenizer of this run, ${described(ours)}`,
    hint: `Make the policy with the other one: fromScratch({ tokenizer: await loadTokenizer("${directory}") }).`,
  });
}

const Tokens = z.object({ model: z.object({ vocab: z.record(z.string(), z.unknown()) }) });

function described(file: string): string {
  try {
    const words = Object.keys(Tokens.parse(JSON.parse(file)).model.vocab);
    return `${words.length} tokens ending in ${words
      .slice(-3)
      .map((word) => JSON.stringify(word))
      .join(", ")}`;
  } catch {
    return `${file.length} characters`;
  }
}
