import { z } from "zod";
import { LudusError } from "../errors.ts";
import { type EvalOptions, type EvalReport, evalDefaults, evaluate } from "../eval/index.ts";
import type { RunCatalog } from "../store/index.ts";
import type { LearningPolicy, TrainConfig } from "../train/index.ts";
import { policySeed } from "../train/parent.ts";
import { makeWeights } from "../train/weights.ts";
import { chooseCheckpoint } from "./choose-checkpoint.ts";
import type { Terminal } from "./command.ts";
import { evalJson, evalTable } from "./eval-table.ts";
import { loadConfig } from "./load-config.ts";
import { type OpenedRun, withRun } from "./opened-run.ts";
import { paintFor } from "./paint.ts";
import { usageError } from "./parse-options.ts";
import { ProgressLine } from "./progress-line.ts";
import { setFields } from "./set-fields.ts";

export interface EvalTargetOptions {
  readonly file?: string;
  readonly checkpoint?: string;
  readonly split?: string;
  readonly tasks?: number;
  readonly attempts?: number;
  readonly temperature?: number;
  readonly seed?: number;
  readonly set?: readonly string[];
  readonly quiet?: boolean;
  readonly json?: boolean;
}

interface Subject {
  readonly name: string;
  readonly config: TrainConfig;
  /** Where a run's checkpoint is to be loaded from. */
  readonly load?: (policy: LearningPolicy) => Promise<void>;
}

/** Measures what a file makes, or a checkpoint of a run, and tells how well it did. Returns the exit status. */
export async function evalTarget(
  runs: RunCatalog,
  target: string,
  options: EvalTargetOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const subject = await findSubject(runs, target, options);
  const { config } = subject;
  const chosen = chosenOptions(config, options);
  if (!config.env.tasks.splits.includes(chosen.split)) {
    const expected = `one of ${config.env.tasks.splits.join(", ")}`;
    throw usageError("unknown-split", { got: `"${chosen.split}"`, expected });
  }
  const policy =
    typeof config.policy === "function" ? await config.policy(config.env, config.seed ?? 0) : config.policy;
  try {
    await subject.load?.(policy);
    const report = await watched(config, policy, { ...chosen, signal }, options.quiet ? undefined : terminal.stderr);
    if (!signal.aborted) terminal.stdout.write(reportText(subject, report, options, terminal));
    return 0;
  } finally {
    await policy.engine.close();
  }
}

/** What was asked for, else what the configuration says, else the defaults. */
function chosenOptions({ rollout, eval: own = {} }: TrainConfig, asked: EvalTargetOptions) {
  const { every: _every, signal: _signal, ...configured } = own;
  const { split, tasks, attempts, temperature, seed } = asked;
  const given = Object.entries({ split, tasks, attempts, temperature, seed }).filter(
    ([, value]) => value !== undefined,
  );
  return { ...evalDefaults, ...rollout, ...configured, ...Object.fromEntries(given) };
}

async function watched(
  { env }: TrainConfig,
  policy: LearningPolicy,
  options: Partial<EvalOptions> & Pick<EvalOptions, "tasks" | "attempts" | "split">,
  screen: Terminal["stderr"] | undefined,
): Promise<EvalReport> {
  const total = Math.min(options.tasks, env.tasks.size(options.split)) * options.attempts;
  const progress = screen === undefined ? undefined : new ProgressLine(screen, "episodes", total);
  try {
    return await evaluate(env, policy, { ...options, onRollout: () => progress?.add() });
  } finally {
    progress?.end();
  }
}

function reportText({ name }: Subject, report: EvalReport, { json }: EvalTargetOptions, { stdout }: Terminal): string {
  if (json) return `${JSON.stringify({ policy: name, ...evalJson(report) })}\n`;
  return evalTable({ [name]: report }, paintFor(stdout));
}

async function findSubject(
  runs: RunCatalog,
  target: string,
  { file, checkpoint, set = [] }: EvalTargetOptions,
): Promise<Subject> {
  if ((await runs.info(target)) === undefined) {
    if (file === undefined && checkpoint === undefined) {
      return { name: target, config: setFields(await loadConfig(target), set) };
    }
    throw usageError("bad-usage", { got: `"${target}" with --file or --checkpoint`, expected: "the folder of a run" });
  }
  if (file === undefined) {
    throw usageError("no-file", {
      got: `the run ${target} alone`,
      expected: "the file that made it: a run holds weights and records, no code",
      hint: `ludus eval ${target} --file train.ts`,
    });
  }
  return checkpointSubject(runs, target, setFields(await loadConfig(file), set), checkpoint ?? "last");
}

const Stored = z.object({ env: z.object({ name: z.string() }) });

async function checkpointSubject(runs: RunCatalog, id: string, config: TrainConfig, wanted: string): Promise<Subject> {
  return withRun(runs, id, async (run) => {
    const identity = await identityOf(run);
    if (identity.env !== config.env.name) {
      throw new LudusError("other-run", {
        got: `a file with the environment ${config.env.name}`,
        expected: `${identity.env}, in which ${id} was trained`,
        hint: "Name the file that made the run with --file.",
      });
    }
    const { checkpoints } = run;
    const step = await chooseCheckpoint(run, wanted);
    return {
      name: `${id}, step ${step}`,
      // a tokenizer may be made from the seed, so that another one would not fit the weights
      config: { ...config, seed: identity.seed },
      async load(policy) {
        await makeWeights(policy);
        await checkpoints.load(policy.engine, step);
      },
    };
  });
}

async function identityOf({ id, reader }: OpenedRun): Promise<{ readonly env: string; readonly seed: number }> {
  const config = await reader.config();
  const stored = Stored.safeParse(config);
  if (stored.success) return { env: stored.data.env.name, seed: policySeed(config) };
  throw new LudusError("run-incomplete", {
    got: `${id}, which does not say what was trained`,
    expected: "a run that train() has begun",
    hint: "A run that was killed before its first step has nothing to measure; train it again.",
  });
}
