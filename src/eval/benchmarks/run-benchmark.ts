import { errorText, LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { createLimiter } from "../../limiter.ts";
import { hashText, seedOf } from "../../task/seeds.ts";
import type { BenchmarkTask, Chat } from "./benchmark.ts";
import { type BenchmarkReport, reportOf } from "./benchmark-report.ts";
import type { ChatModel } from "./chat-model.ts";
import type { AttemptRecord, ResultsFile } from "./results-file.ts";
import type { UserModel } from "./user-model.ts";

export interface BenchmarkOptions {
  /** The first so many; all by default. */
  tasks: number;
  /** At each task; 1 by default. More give pass@k and pass^k. */
  attempts: number;
  /** Attempts under way at once; 8 by default. */
  concurrency: number;
  seed: number;
  signal: AbortSignal;
  /** Plays the user of benchmarks that have one. */
  user: UserModel;
  /** Keeps what was done, and what earlier programs did is not done again. */
  results: ResultsFile;
  onAttempt: () => void;
}

const knownBenchmarkOptions: KnownOptions<BenchmarkOptions> = {
  tasks: true,
  attempts: true,
  concurrency: true,
  seed: true,
  signal: true,
  user: true,
  results: true,
  onAttempt: true,
};

/**
 * Measures a model on tasks of a benchmark. An attempt at which the model could not be reached, or the benchmark's own Python failed, is in no figure and is made again when the
 * results are resumed; where the model fails at the first, or Python at the first four, nothing is measured and it throws. When aborted it reports what was done.
 */
export async function runBenchmark(
  tasks: readonly BenchmarkTask[],
  model: ChatModel,
  options: Partial<BenchmarkOptions> = {},
): Promise<BenchmarkReport> {
  refuseUnknownOptions("runBenchmark", options, knownBenchmarkOptions);
  const { attempts = 1, concurrency = 8, seed = 1, user, results, onAttempt } = options;
  checkCounts(options.tasks ?? tasks.length, attempts);
  const chosen = tasks.slice(0, options.tasks ?? tasks.length);
  checkIds(chosen);
  const done = new Map(results?.earlier.map((record) => [keyOf(record.task, record.attempt), record]));
  const failures: string[] = [];
  const lost = new AbortController();
  const signal = AbortSignal.any([lost.signal, ...(options.signal === undefined ? [] : [options.signal])]);
  const limit = createLimiter(concurrency);
  const make = async (task: BenchmarkTask, attempt: number) => {
    try {
      const record = await attemptOnce(task, attempt, { model, user }, seedOf(seed, task.id, attempt), signal);
      await results?.add(record);
      done.set(keyOf(task.id, attempt), record);
    } catch (error) {
      if (signal.aborted) return;
      if (!isInfrastructure(error) || (done.size === 0 && isHopeless(error, failures.length, open.length))) {
        lost.abort(error);
        return;
      }
      failures.push(errorText(error));
    }
    onAttempt?.();
  };
  const open = chosen.flatMap((task) =>
    Array.from({ length: attempts }, (_, attempt) => ({ task, attempt })).filter(
      ({ attempt: number }) => !done.has(keyOf(task.id, number)),
    ),
  );
  await Promise.all(
    open.map(({ task, attempt }) => limit(() => make(task, attempt), signal).catch(ignoreAbort(signal))),
  );
  if (lost.signal.aborted) throw lost.signal.reason;
  return reportOf(chosen, attempts, done, failures);
}

/** Waiting for a place ends with the signal. */
function ignoreAbort(signal: AbortSignal): (error: unknown) => void {
  return (error) => {
    if (!signal.aborted) throw error;
  };
}

export function keyOf(task: string, attempt: number): string {
  return `${attempt} ${task}`;
}

/** What says nothing about the model: the attempt is in no figure, and is made again when the results are resumed. */
const infrastructure = ["model-failed", "python-bridge-lost", "python-exception", "benchmark-timeout"];

function isInfrastructure(error: unknown): boolean {
  return error instanceof LudusError && infrastructure.includes(error.code);
}

/** Whether to give up before anything was measured: a model that is down answers nobody, one exception of Python may be its task's. */
function isHopeless(error: unknown, failedBefore: number, attempts: number): boolean {
  return (error as LudusError).code === "model-failed" || failedBefore + 1 >= Math.min(attempts, firstFailures);
}

const firstFailures = 4;

async function attemptOnce(
  task: BenchmarkTask,
  attempt: number,
  { model, user }: { readonly model: ChatModel; readonly user: UserModel | undefined },
  seed: number,
  signal: AbortSignal,
): Promise<AttemptRecord> {
  let [promptTokens, completionTokens, asked] = [0, 0, 0];
  let [userPromptTokens, userCompletionTokens] = [0, 0];
  const nextSeed = () => hashText(`${seed}/${asked++}`) >>> 1;
  const chat: Chat = async (request) => {
    const reply = await model.ask(request, nextSeed(), signal);
    promptTokens += reply.promptTokens;
    completionTokens += reply.completionTokens;
    return reply;
  };
  const spoken: Chat = async (request) => {
    const reply = await user!.ask(task.id, request, nextSeed(), signal);
    userPromptTokens += reply.promptTokens;
    userCompletionTokens += reply.completionTokens;
    return reply;
  };
  const {
    success,
    metrics = {},
    output,
  } = await task.attempt(chat, {
    signal,
    ...(user === undefined ? {} : { user: spoken }),
  });
  const used = { promptTokens, completionTokens };
  const left = output === undefined ? {} : { output };
  const record = { task: task.id, attempt, success, metrics, ...used, ...left };
  return user === undefined ? record : { ...record, userPromptTokens, userCompletionTokens };
}

function checkCounts(tasks: number, attempts: number): void {
  if ([tasks, attempts].every((count) => Number.isInteger(count) && count >= 1)) return;
  const got = `${tasks} tasks, ${attempts} attempts at each`;
  throw new LudusError("bad-eval", { got, expected: "one task and one attempt at least" });
}

/** Attempts are kept by the id of their task: two tasks of one id would both count the attempts of the last. */
function checkIds(tasks: readonly BenchmarkTask[]): void {
  const seen = new Set<string>();
  for (const { id } of tasks) {
    if (seen.has(id)) {
      const hint = "Is there a file of another release in the folder?";
      throw new LudusError("bad-eval", { got: `two tasks "${id}"`, expected: "an id for each task", hint });
    }
    seen.add(id);
  }
  if (tasks.length === 0) throw new LudusError("bad-eval", { got: "no tasks", expected: "one task at least" });
}
