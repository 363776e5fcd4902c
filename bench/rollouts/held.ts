import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { z } from "zod";
import { defineEnv } from "../../src/env/define-env.ts";
import { byteTokenizer } from "../../src/policy/byte-tokenizer.ts";
import { compactRenderer } from "../../src/policy/compact-renderer.ts";
import { compact } from "../../src/policy/formats/compact.ts";
import { runRollout } from "../../src/rollout/run-rollout.ts";
import { generated } from "../../src/task/generated.ts";
import { quantile } from "../statistics.ts";
import { immediateEngine } from "./immediate-engine.ts";

export const heldCounts = [500, 1000, 2000, 5000, 10_000];
/** With a tool of one second, a turn that takes longer has waited for the others for half of its time. */
export const maxLatencyMs = 1500;
export const toolTurns = 3;

export interface Held {
  rollouts: number;
  /** From the policy's call of the tool to the prompt of its next turn. */
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
  /** Rollouts that did not end as they should. */
  disturbed: number;
  /** Growth of the heap while all are in flight, garbage included, over their number. */
  bytesPerRollout: number;
  seconds: number;
  /** Processor time of this process over the time that passed. */
  cores: number;
}

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

const waitingFor = (toolMs: number) =>
  defineEnv({
    name: "waiting",
    tasks: generated(() => null),
    start: () => ({ state: { waits: 0 }, say: "go" }),
    tools: (tool) => ({
      wait: tool({
        description: "Takes its time",
        input: z.object({}),
        async run(_, { state }) {
          if (toolMs > 0) await sleep(toolMs);
          return ++state.waits;
        },
      }),
    }),
    score: ({ state, answer }) => (state.waits === toolTurns && answer === "done" ? 1 : 0),
    format: compact(),
  });

/** All of them begin at once, so that all of their tools answer at once too: the hardest case. */
export async function measureHeld(count: number, signal: AbortSignal, toolMs = 1000): Promise<Held> {
  const waiting = waitingFor(toolMs);
  const renderer = compactRenderer({ tokenizer: byteTokenizer() });
  const task = await waiting.tasks.at("train", 0);
  const calledAt = new Map<string, { turns: number; at: number }>();
  const latencies: number[] = [];
  const policy = immediateEngine(renderer, ({ rollout }) => {
    const now = performance.now();
    const { turns, at } = calledAt.get(rollout!) ?? { turns: 0, at: now };
    if (turns > 0) latencies.push(now - at);
    calledAt.set(rollout!, { turns: turns + 1, at: now });
    return turns < toolTurns ? "wait" : "=done";
  });
  collectGarbage();
  const heapBefore = process.memoryUsage().heapUsed;
  const [started, cpu] = [performance.now(), process.cpuUsage()];
  const running = Array.from({ length: count }, (_, index) =>
    runRollout(waiting, task, policy, { id: `${count}/${index}`, seed: index, signal }),
  );
  await sleep(toolMs / 2);
  const bytes = process.memoryUsage().heapUsed - heapBefore;
  const rollouts = await Promise.all(running);
  const seconds = (performance.now() - started) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  signal.throwIfAborted();
  return {
    rollouts: count,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    maxMs: latencies.reduce((a, b) => Math.max(a, b), 0),
    disturbed: rollouts.filter(({ trajectories }) => trajectories[0]?.score.total !== 1).length,
    bytesPerRollout: bytes / count,
    seconds,
    cores: (user + system) / 1e6 / seconds,
  };
}

export function isHeld({ p99Ms, disturbed }: Held): boolean {
  return p99Ms < maxLatencyMs && disturbed === 0;
}
