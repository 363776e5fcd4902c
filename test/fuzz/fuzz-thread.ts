import { parentPort, workerData } from "node:worker_threads";
import { errorStack } from "../../src/errors.ts";
import { createRng } from "../../src/random.ts";
import type { FuzzTarget } from "./target.ts";

/** What a thread is given. */
export interface ThreadTask {
  /** The module that exports `targets`. */
  readonly module: string;
  readonly jobs: readonly ThreadJob[];
  readonly seed: number;
  /** Where the thread says what it works on: `[place of the job, index of the input, milliseconds since 1970]`. */
  readonly progress: Float64Array;
}

export interface ThreadJob {
  readonly target: string;
  /** The first index to try. */
  readonly from: number;
  /** Inputs to replay; generated ones, without end, where absent. */
  readonly inputs?: readonly unknown[];
}

export type ThreadMessage =
  | { readonly kind: "tried"; readonly job: number; readonly ms: number; readonly index: number }
  | { readonly kind: "failed"; readonly job: number; readonly index: number; readonly error: string }
  | { readonly kind: "done" };

/** The same input for the same seed, target and index, in any thread. */
export function inputOf(targets: readonly FuzzTarget[], name: string, seed: number, index: number): unknown {
  const target = targets.find((each) => each.name === name)!;
  return target.generate(createRng(seed * 2 ** 32 + index));
}

/** Tries inputs of all jobs in turn until the thread is ended, or until the inputs to replay are. */
async function work({ module, jobs, seed, progress }: ThreadTask, post: (message: ThreadMessage) => void) {
  const { targets } = (await import(module)) as { targets: readonly FuzzTarget[] };
  const isReplay = jobs.every(({ inputs }) => inputs !== undefined);
  const rounds = isReplay ? Math.max(0, ...jobs.map(({ inputs = [] }) => inputs.length)) : Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round++) {
    for (const [job, { target: name, from, inputs }] of jobs.entries()) {
      const index = from + round;
      if (inputs !== undefined && index >= inputs.length) continue;
      progress.set([job, index, Date.now()]);
      const target = targets.find((each) => each.name === name)!;
      const input = inputs === undefined ? inputOf(targets, name, seed, index) : inputs[index];
      const startedAt = performance.now();
      try {
        await target.run(input);
      } catch (error) {
        post({ kind: "failed", job, index, error: errorStack(error).slice(0, 2_000) });
      }
      post({ kind: "tried", job, index, ms: performance.now() - startedAt });
    }
    // lets messages out, and stray rejections in while their input is still known
    await new Promise((resolve) => setImmediate(resolve));
  }
  progress[2] = Number.POSITIVE_INFINITY;
  for (const { target: name } of jobs) await targets.find((each) => each.name === name)?.close?.();
  post({ kind: "done" });
}

if (parentPort !== null && workerData?.progress !== undefined) {
  const port = parentPort;
  await work(workerData as ThreadTask, (message) => port.postMessage(message));
}
