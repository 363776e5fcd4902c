import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineEnv } from "../../src/env/define-env.ts";
import { LudusError } from "../../src/errors.ts";
import { inOrder } from "../../src/guide/in-order.ts";
import { compactRenderer } from "../../src/policy/compact-renderer.ts";
import { loadTokenizer } from "../../src/policy/load-tokenizer.ts";
import { metric } from "../../src/schema/metric-names.ts";
import { listed } from "../../src/task/listed.ts";
import { grpo } from "../../src/train/presets/grpo.ts";
import { train } from "../../src/train/train-sync.ts";
import type { Run, WorkloadOf } from "../child/protocol.ts";
import { openEngine, type Prepared } from "./prepared.ts";

/**
 * Steps of `train`: environment, renderer, rollouts, reward, credit, update and store, paused after every step until the next one is
 * asked for. A step is timed from the end of one to the end of the next, as TRL's is.
 */
export async function prepareGrpoStep(workload: WorkloadOf<"grpo-step">, threads: number): Promise<Prepared> {
  const { model, prompts, groupSize, maxTokens, learningRate, maxGradientNorm } = workload;
  if (!("folder" in model))
    throw new LudusError("no-tokenizer", { got: "a model without a folder", expected: "a folder with a tokenizer" });
  const engine = await openEngine(model, threads);
  const tokenizer = await loadTokenizer(model.folder);
  const env = defineEnv({
    name: "distinct-characters",
    tasks: listed({ train: prompts, test: prompts }),
    start: ({ task }) => ({ state: null, say: task }),
    score: ({ turns: [{ text }] }) => ({ distinct: new Set(text).size }),
    limits: { turns: 1, turnTokens: maxTokens, tokens: maxTokens },
  });
  const folder = mkdtempSync(join(tmpdir(), "ludus-grpo-step-"));
  const steps = stepByStep();
  const stop = new AbortController();
  const finished = train({
    env,
    policy: { engine, renderer: compactRenderer({ tokenizer }), tokenizer },
    algorithm: grpo({ groupSize, learningRate, maxGradientNorm, deviation: { epsilon: 1e-4 } }),
    guide: (context) => {
      const guide = inOrder()(context);
      const pick = guide.pick.bind(guide);
      return { ...guide, pick: (count) => steps.ended().then(() => pick(count)) };
    },
    steps: 1000,
    tasksPerStep: prompts.length,
    eval: { tasks: 0 },
    // like TRL's, it stores what it measured and no checkpoint
    run: join(folder, "run"),
    save: { every: 1_000_000 },
    monitors: [{ name: "bench", record: (event) => event.type === "step-end" && steps.measured(event.metrics) }],
    signal: stop.signal,
  });
  finished.catch(steps.fail);
  await steps.isReady();
  return {
    run: () => steps.next(),
    async close() {
      stop.abort();
      steps.release();
      await finished;
      await engine.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Holds a loop back at the beginning of each step, and times what lies between. */
function stepByStep() {
  let tokens = 0;
  let arrived = Promise.withResolvers<void>();
  let gate = Promise.withResolvers<void>();
  return {
    /** The loop is at the beginning of a step: the one before is over. */
    ended(): Promise<void> {
      arrived.resolve();
      return gate.promise;
    },
    measured(metrics: Readonly<Record<string, number>>): void {
      tokens = metrics[metric.sampledTokens];
    },
    isReady: (): Promise<void> => arrived.promise,
    async next(): Promise<Run> {
      const start = performance.now();
      arrived = Promise.withResolvers();
      const opened = gate;
      gate = Promise.withResolvers();
      opened.resolve();
      await arrived.promise;
      return { seconds: (performance.now() - start) / 1000, tokens };
    },
    release: (): void => gate.resolve(),
    fail: (error: unknown): void => arrived.reject(error),
  };
}
