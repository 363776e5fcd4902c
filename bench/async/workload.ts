import { setTimeout } from "node:timers/promises";
import { embeddedSampler } from "../../src/engine/embedded/embedded-sampler.ts";
import { splitEngine } from "../../src/engine/split-engine.ts";
import { defineEnv } from "../../src/env/define-env.ts";
import { createRng, type Rng } from "../../src/random.ts";
import { metric } from "../../src/schema/metric-names.ts";
import type { RunEvent } from "../../src/schema/run-event.ts";
import { generated } from "../../src/task/generated.ts";
import { hashText } from "../../src/task/seeds.ts";
import { fromScratch } from "../../src/train/from-scratch.ts";
import type { MakePolicy } from "../../src/train/learning-policy.ts";
import { areal } from "../../src/train/presets/off-policy.ts";
import { train } from "../../src/train/train-sync.ts";

/**
 * Changed three times after trials, always on a busy machine. First the tool was made slower (100 ms: ratios of 2.4 and 1.2), then staleness was raised
 * from 4 to 8. Last the asynchronous run was given a sampler in a process of its own and both a larger model (0.3M before): with trainer and
 * sampler on one thread the trainer goes first, and waits as long as sampling takes, 0.15 to 0.41 of its time.
 */
export const workload = {
  tasksPerStep: 16,
  groupSize: 8,
  turnTokens: 24,
  staleness: 8,
  /** Of the tool, log-normal: the slowest of 128 calls takes about twelve times the median. */
  toolMedianMs: 300,
  toolSigma: 1,
  /** Steps that are made, and of them those at the beginning and at the end that do not count: a buffer fills and empties. */
  sync: { steps: 8, apart: 1 },
  async: { steps: 24, apart: 8 },
} as const;

export interface Measured {
  readonly stepsPerSecond: number;
  /** Shares of the time between two steps: without a group for the trainer, and without a rollout under way. Of the asynchronous run. */
  readonly trainerWaits?: number;
  readonly samplerWaits?: number;
  /** Mean age of the tokens that were learned from, in steps. */
  readonly age?: number;
}

function toolMs(rng: Rng): number {
  return workload.toolMedianMs * Math.exp(workload.toolSigma * rng.normal());
}

/** After each turn a tool is waited for. What it is worth depends on nothing but the text, so that groups differ. */
function waitingEnv(turns: number) {
  const rng = createRng(7);
  return defineEnv({
    name: "waiting",
    tasks: generated((random) => ({ word: `w${random.integer(1000)}` })),
    start: ({ task }) => ({ state: { said: "", left: turns }, say: task.word }),
    async act({ state, answer }) {
      await setTimeout(toolMs(rng));
      state.said += answer;
      state.left--;
      return state.left === 0 ? { done: true } : { say: "ok" };
    },
    score: ({ state }) => ({ total: hashText(state.said) % 2, parts: {}, success: false }),
    limits: { turns, turnTokens: workload.turnTokens },
  });
}

/** The synchronous run samples and trains on all cores; the asynchronous one trains on one core and samples on another. */
function policyOf(isAsync: boolean): MakePolicy {
  const options = { size: "small", tokenizer: "bytes", contextLength: 192 } as const;
  if (!isAsync) return fromScratch(options);
  return async (env, seed) => {
    const made = await fromScratch({ ...options, threads: 1 })(env, seed);
    return { ...made, engine: splitEngine({ trainer: made.engine, samplers: [embeddedSampler({ threads: 1 })] }) };
  };
}

/** Steps a second in the middle of a run. */
export async function measure(turns: number, isAsync: boolean, signal: AbortSignal): Promise<Measured> {
  const { tasksPerStep, groupSize, staleness } = workload;
  const { steps, apart } = isAsync ? workload.async : workload.sync;
  const ends: { atMs: number; metrics: Readonly<Record<string, number>> }[] = [];
  const monitor = {
    name: "bench",
    record(event: RunEvent) {
      if (event.type === "step-end") ends.push({ atMs: performance.now(), metrics: event.metrics });
    },
  };
  const { policy } = await train({
    env: waitingEnv(turns),
    policy: policyOf(isAsync),
    algorithm: areal({ groupSize, learningRate: 1e-4 }),
    tasksPerStep,
    steps,
    eval: { tasks: 0 },
    monitors: [monitor],
    signal,
    ...(isAsync ? { async: { staleness } } : {}),
  });
  await policy.engine.close();
  const middle = ends.slice(apart, isAsync ? steps - apart : steps);
  const seconds = (middle.at(-1)!.atMs - middle[0].atMs) / 1000;
  const mean = (name: string) =>
    middle.slice(1).reduce((sum, { metrics }) => sum + metrics[name], 0) / (middle.length - 1);
  return {
    stepsPerSecond: (middle.length - 1) / seconds,
    ...(isAsync
      ? {
          trainerWaits: mean(metric.trainerWaits),
          samplerWaits: mean(metric.samplerWaits),
          age: mean(metric.stalenessMean),
        }
      : {}),
  };
}
