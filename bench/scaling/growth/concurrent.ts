import { setTimeout as sleep } from "node:timers/promises";
import { delegate } from "../../../src/engine/delegate.ts";
import { embedded } from "../../../src/engine/embedded/embedded.ts";
import type { Engine } from "../../../src/engine/engine.ts";
import { countParameters, tiny } from "../../../src/engine/model/model-config.ts";
import { defineEnv } from "../../../src/env/define-env.ts";
import { byteTokenizer } from "../../../src/policy/byte-tokenizer.ts";
import { compactRenderer } from "../../../src/policy/compact-renderer.ts";
import { plain } from "../../../src/policy/formats/plain.ts";
import { runRollout } from "../../../src/rollout/run-rollout.ts";
import { generated } from "../../../src/task/generated.ts";
import type { BenchmarkContext } from "../../benchmark.ts";
import { measureHeld, toolTurns } from "../../rollouts/held.ts";
import { computedFlops } from "../flops.ts";
import type { RolloutsPoint } from "./records.ts";

const toolTimesMs = [0, 100, 1000];
const immediateCounts = [16, 128, 1024, 10_000];
const embeddedCounts = [16, 64, 256, 1024];
const turns = toolTurns + 1;
const turnTokens = 16;
const model = tiny({ vocabularySize: 259 });

export const concurrentModel = { parameters: countParameters(model), turnTokens };

export async function measureRollouts(context: BenchmarkContext): Promise<RolloutsPoint[]> {
  const { signal, progress } = context;
  const points: RolloutsPoint[] = [];
  const add = (point: RolloutsPoint) => {
    points.push(point);
    progress(
      `${point.engine === "none" ? "no model" : "embedded"}, ${point.rollouts} rollouts, tools of ${point.toolMs} ms: ${point.seconds.toFixed(2)} s`,
    );
  };
  for (const toolMs of toolTimesMs) {
    for (const rollouts of immediateCounts) {
      const { seconds, cores, disturbed } = await measureHeld(rollouts, signal, toolMs);
      add({
        ...{ engine: "none", rollouts, toolMs, turns, seconds, disturbed },
        ...{ toolSeconds: (toolTurns * toolMs) / 1000, gigaflop: 0 },
        microsecondsPerTurn: (cores * seconds * 1e6) / rollouts / turns,
      });
    }
  }
  const engine = await embedded({ model, seed: 1, tokenizer: byteTokenizer() });
  try {
    await measureEmbedded(engine, { rollouts: 16, toolMs: 0, signal });
    for (const toolMs of toolTimesMs) {
      for (const rollouts of embeddedCounts) {
        add(await measureEmbedded(engine, { rollouts, toolMs, signal }));
      }
    }
    return points;
  } finally {
    await engine.close();
  }
}

/** A random model does not end its turns by itself: the stop token is put behind what it sampled. */
function endingTurns(engine: Engine): Engine {
  return delegate(engine, {
    async sample({ stopTokens = [], stopStrings: _none, maxTokens, ...request }, signal) {
      const sample = await engine.sample({ ...request, maxTokens: maxTokens - 1 }, signal);
      const tokens = Int32Array.of(...sample.tokens, stopTokens[0]);
      const logprobs = Float32Array.of(...sample.logprobs, 0);
      const versions = Int32Array.of(...sample.versions, sample.versions[0]);
      return { tokens, logprobs, versions, stop: "stop-token" };
    },
  });
}

interface Case {
  rollouts: number;
  toolMs: number;
  signal: AbortSignal;
}

/** A random model calls no tool: the environment itself takes the time of one before it answers. */
async function measureEmbedded(engine: Engine, { rollouts, toolMs, signal }: Case): Promise<RolloutsPoint> {
  const env = defineEnv({
    name: "slow-answers",
    tasks: generated(() => null),
    start: () => ({ state: { waits: 0 }, say: "go" }),
    async act({ state }) {
      if (++state.waits === turns) return { done: true };
      if (toolMs > 0) await sleep(toolMs);
      return { say: "on" };
    },
    limits: { turns, turnTokens },
    format: plain(),
  });
  const policy = { renderer: compactRenderer({ tokenizer: byteTokenizer() }), engine: endingTurns(engine) };
  const task = await env.tasks.at("train", 0);
  const [started, cpu] = [performance.now(), process.cpuUsage()];
  const done = await Promise.all(
    Array.from({ length: rollouts }, (_, index) =>
      runRollout(env, task, policy, { id: `${toolMs}/${rollouts}/${index}`, seed: index, signal }),
    ),
  );
  const seconds = (performance.now() - started) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  signal.throwIfAborted();
  const flops = done.reduce((sum, { trajectories }) => {
    const { tokens_T, mask_T } = trajectories[0];
    const sampled = mask_T.reduce((count, isSampled) => count + isSampled, 0);
    return sum + computedFlops(model, concurrentModel.parameters, { from: 0, to: tokens_T.length, sampled });
  }, 0);
  return {
    ...{ engine: "embedded", rollouts, toolMs, turns, seconds },
    ...{ toolSeconds: (toolTurns * toolMs) / 1000, gigaflop: flops / 1e9 },
    microsecondsPerTurn: (user + system) / rollouts / turns,
    disturbed: done.filter(({ trajectories }) => trajectories[0]?.turns.length !== turns).length,
  };
}
