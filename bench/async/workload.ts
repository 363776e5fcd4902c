import { setTimeout } from "node:timers/promises";
import { tiny } from "../../src/engine/model/model-config.ts";
import { defineEnv } from "../../src/env/define-env.ts";
import { createRng, type Rng } from "../../src/random.ts";
import { metric } from "../../src/schema/metric-names.ts";
import type { RunEvent } from "../../src/schema/run-event.ts";
import { generated } from "../../src/task/generated.ts";
import { hashText } from "../../src/task/seeds.ts";
import { fromScratch } from "../../src/train/from-scratch.ts";
import { areal } from "../../src/train/presets/off-policy.ts";
import type { TrainConfig } from "../../src/train/train.ts";
import { train } from "../../src/train/train-sync.ts";

/**
 * Of the tool: log-normal. The slowest of 128 calls takes about twelve times the median. Ratios depend on it: the workload was changed twice after
 * trials on a busy machine; with 100 ms and a wider model they were 2.4 after one turn and 1.2 after three.
 */
export const latency = { medianMs: 300, sigma: 1 } as const;
/** Raised from 4 after a trial in which the trainer waited for a seventh of its time or more. */
export const staleness = 8;
export const [tasksPerStep, groupSize, turnTokens] = [16, 8, 24] as const;

export interface Measured {
  readonly stepsPerSecond: number;
  /** Of the time between two steps; of the asynchronous run. */
  readonly trainerWaits?: number;
}

function toolMs(rng: Rng): number {
  const radius = Math.sqrt(-2 * Math.log(1 - rng.next()));
  return latency.medianMs * Math.exp(latency.sigma * radius * Math.cos(2 * Math.PI * rng.next()));
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
    limits: { turns, turnTokens },
  });
}

/** Steps a second in the middle of a run: neither what fills the buffer nor what empties it counts. */
export async function measure(turns: number, isAsync: boolean, steps: number, signal: AbortSignal): Promise<Measured> {
  const ends: { atMs: number; waits: number | undefined }[] = [];
  const monitor = {
    name: "bench",
    record(event: RunEvent) {
      if (event.type === "step-end") ends.push({ atMs: performance.now(), waits: event.metrics[metric.trainerWaits] });
    },
  };
  const config: TrainConfig = {
    env: waitingEnv(turns),
    policy: fromScratch({
      tokenizer: "bytes",
      size: (vocabularySize) => tiny({ vocabularySize, width: 96, contextLength: 160 }),
    }),
    algorithm: areal({ groupSize, learningRate: 1e-4 }),
    tasksPerStep,
    steps,
    eval: { tasks: 0 },
    monitors: [monitor],
    signal,
    ...(isAsync ? { async: { staleness } } : {}),
  };
  const { policy } = await train(config);
  await policy.engine.close();
  const middle = ends.slice(staleness, steps - staleness);
  const seconds = (middle.at(-1)!.atMs - middle[0].atMs) / 1000;
  const waits = middle.slice(1).flatMap((each) => each.waits ?? []);
  return {
    stepsPerSecond: (middle.length - 1) / seconds,
    ...(isAsync ? { trainerWaits: waits.reduce((a, b) => a + b, 0) / waits.length } : {}),
  };
}
