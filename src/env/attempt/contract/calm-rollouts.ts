import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { byteTokenizer } from "../../../policy/byte-tokenizer.ts";
import { compactRenderer } from "../../../policy/compact-renderer.ts";
import { compact } from "../../../policy/formats/compact.ts";
import type { Rollout } from "../../../rollout/rollout.ts";
import { runRollout } from "../../../rollout/run-rollout.ts";
import { generated } from "../../../task/generated.ts";
import { defineEnv } from "../../define-env.ts";

import { scriptedEngine } from "./scripted-engine.ts";

const tokenizer = byteTokenizer();
const renderer = compactRenderer({ tokenizer });

export interface CalmRollouts {
  /** Resolves when all of them are in the middle of their episode, waiting. */
  readonly underWay: Promise<void>;
  /** Lets them go on; resolves to how many did not end with the reward that was theirs. */
  finish(): Promise<number>;
}

/** Rollouts that do sums with a short asynchronous tool, and wait half way until they are told to go on. */
export function startCalmRollouts(count: number, signal: AbortSignal): CalmRollouts {
  const gate = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  let waiting = 0;
  const sums = defineEnv<{ a: number; b: number }, { sum: number }>({
    name: "sums",
    tasks: generated((rng) => ({ a: rng.integer(100), b: rng.integer(100) })),
    start: ({ task: { a, b } }) => ({ state: { sum: 0 }, say: `${a} ${b}` }),
    tools: (tool) => ({
      add: tool({
        input: z.object({ n: z.number() }),
        async run({ n }, { state, rng }) {
          await sleep(rng.integer(20));
          state.sum += n;
          return state.sum;
        },
      }),
      wait: tool({
        input: z.object({}),
        async run() {
          if (++waiting === count) arrived.resolve();
          await gate.promise;
        },
      }),
    }),
    score: ({ task: { a, b }, state, answer }) => (state.sum === a + b && Number(answer) === a + b ? 1 : 0),
    format: compact(),
  });
  const run = async (_: unknown, index: number): Promise<Rollout> => {
    const task = await sums.tasks.at("train", index);
    const { a, b } = task.data;
    const policy = scriptedEngine({ tokenizer, renderer, says: [`add ${a}`, "wait", `add ${b}`, `=${a + b}`] });
    return runRollout(sums, task, policy, { id: `calm/${index}`, seed: index, signal });
  };
  const rollouts = Promise.all(Array.from({ length: count }, run));
  return {
    underWay: arrived.promise,
    async finish() {
      gate.resolve();
      return (await rollouts).filter(isDisturbed).length;
    },
  };
}

function isDisturbed({ stop, trajectories }: Rollout): boolean {
  return stop !== "completed" || trajectories.length !== 1 || trajectories[0].score.total !== 1;
}
