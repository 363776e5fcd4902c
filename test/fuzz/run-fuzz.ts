import { Worker } from "node:worker_threads";
import { inputOf, type ThreadJob, type ThreadMessage, type ThreadTask } from "./fuzz-thread.ts";
import type { FuzzTarget } from "./target.ts";

export interface FuzzOptions {
  /** The module that exports `targets`; ours by default. */
  module: string;
  targets: readonly FuzzTarget[];
  seed: number;
  /** How long to go on with generated inputs. */
  ms: number;
  /** Inputs to replay instead, by target. */
  replay?: Readonly<Record<string, readonly unknown[]>>;
  /** An input that takes longer is a hang. */
  hangMs: number;
  signal?: AbortSignal;
  onFailure?: (failure: FuzzFailure) => void;
  onProgress?: (report: FuzzReport) => void;
}

export interface FuzzFailure {
  readonly kind: "exception" | "hang";
  readonly target: string;
  readonly index: number;
  readonly error: string;
  readonly input: unknown;
}

export interface FuzzReport {
  inputs: number;
  exceptions: number;
  hangs: number;
  slowest: { ms: number; target: string; index: number } | undefined;
  /** Inputs tried, by target. */
  readonly tried: Record<string, number>;
}

const pollMs = 200;
const heapMb = 1_500;

/**
 * Tries inputs in a thread that can be ended: one that hangs, runs out of memory or leaves a rejection behind is counted with
 * the input it was working on, and another thread goes on behind it.
 */
export async function runFuzz(options: FuzzOptions): Promise<FuzzReport> {
  const { targets, replay, seed } = options;
  const names = targets.map(({ name }) => name).filter((name) => replay === undefined || name in replay);
  const report: FuzzReport = { inputs: 0, exceptions: 0, hangs: 0, slowest: undefined, tried: {} };
  const endsAt = replay === undefined ? Date.now() + options.ms : Number.POSITIVE_INFINITY;
  const next = new Map(names.map((name) => [name, 0]));
  const fail = (failure: Omit<FuzzFailure, "input">) => {
    if (failure.kind === "hang") report.hangs++;
    else report.exceptions++;
    const { target, index } = failure;
    const input = replay === undefined ? inputOf(targets, target, seed, index) : replay[target][index];
    options.onFailure?.({ ...failure, input });
  };
  for (;;) {
    const jobs = names.map((target): ThreadJob => {
      const from = next.get(target) ?? 0;
      return replay === undefined ? { target, from } : { target, from, inputs: replay[target] };
    });
    const ended = await runThread(jobs, options, { report, next, fail, endsAt });
    if (ended !== "again") return report;
  }
}

interface ThreadState {
  readonly report: FuzzReport;
  /** The next index of each target. */
  readonly next: Map<string, number>;
  readonly fail: (failure: Omit<FuzzFailure, "input">) => void;
  readonly endsAt: number;
}

function runThread(jobs: readonly ThreadJob[], options: FuzzOptions, state: ThreadState): Promise<"again" | "ended"> {
  const { report, next, fail } = state;
  const progress = new Float64Array(new SharedArrayBuffer(24));
  progress[2] = Number.POSITIVE_INFINITY;
  const task: ThreadTask = { module: options.module, jobs, seed: options.seed, progress };
  const worker = new Worker(new URL("./fuzz-thread.ts", import.meta.url), {
    workerData: task,
    resourceLimits: { maxOldGenerationSizeMb: heapMb },
    stdout: true,
    stderr: true,
  });
  return new Promise((resolve) => {
    let isOver = false;
    const end = async (how: "again" | "ended") => {
      if (isOver) return;
      isOver = true;
      clearInterval(watch);
      // the round of this thread that was under way is not repeated
      if (how === "again")
        for (const { target } of jobs) next.set(target, Math.max(next.get(target) ?? 0, progress[1]) + 1);
      await worker.terminate();
      resolve(how);
    };
    const watch = setInterval(() => {
      options.onProgress?.(report);
      if (options.signal?.aborted || Date.now() > state.endsAt) return void end("ended");
      const late = Date.now() - progress[2];
      if (!(late > options.hangMs)) return;
      const { target } = jobs[progress[0]];
      fail({ kind: "hang", target, index: progress[1], error: `no end within ${options.hangMs} ms` });
      void end("again");
    }, pollMs);
    worker.on("message", (message: ThreadMessage) => {
      if (isOver) return;
      if (message.kind === "done") return void end("ended");
      const { target } = jobs[message.job];
      if (message.kind === "failed")
        return fail({ kind: "exception", target, index: message.index, error: message.error });
      report.inputs++;
      report.tried[target] = (report.tried[target] ?? 0) + 1;
      next.set(target, message.index);
      if (message.ms > (report.slowest?.ms ?? -1)) report.slowest = { ms: message.ms, target, index: message.index };
    });
    worker.on("error", (error) => {
      if (isOver) return;
      const { target } = jobs[progress[0]];
      fail({
        kind: "exception",
        target,
        index: progress[1],
        error: `the thread ended: ${error instanceof Error ? error.stack : String(error)}`,
      });
      void end("again");
    });
  });
}
