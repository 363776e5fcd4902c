import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Engine } from "../../src/engine/engine.ts";
import { inOrder } from "../../src/guide/in-order.ts";
import type { Renderer } from "../../src/policy/renderer.ts";
import type { Tokenizer } from "../../src/policy/tokenizer.ts";
import type { World } from "../../src/rollout/world.ts";
import { metric } from "../../src/schema/metric-names.ts";
import { grpo } from "../../src/train/presets/grpo.ts";
import { train } from "../../src/train/train-sync.ts";
import type { Run } from "../child/protocol.ts";
import type { Prepared } from "./prepared.ts";

export interface TrainStepsOptions<Data> {
  env: World<Data>;
  policy: { engine: Engine; renderer: Renderer; tokenizer: Tokenizer };
  tasksPerStep: number;
  groupSize: number;
  temperature: number;
  learningRate: number;
  maxGradientNorm: number;
  /** More about a step than its seconds and sampled tokens. */
  describe?(metrics: Readonly<Record<string, number>>, seconds: number): Pick<Run, "counts" | "stages">;
}

/**
 * Steps of `train`: environment, renderer, rollouts, reward, credit, update and store, paused after every step until the next one is
 * asked for. A step is timed from the end of one to the end of the next, as TRL's is.
 */
export async function prepareTrainSteps<Data>(options: TrainStepsOptions<Data>): Promise<Prepared> {
  const { env, policy, tasksPerStep, groupSize, temperature, learningRate, maxGradientNorm, describe } = options;
  const folder = mkdtempSync(join(tmpdir(), "ludus-train-steps-"));
  const steps = stepByStep();
  const stop = new AbortController();
  const finished = train({
    env,
    policy,
    algorithm: grpo({ groupSize, temperature, learningRate, maxGradientNorm, deviation: { epsilon: 1e-4 } }),
    guide: (context) => {
      const guide = inOrder()(context);
      const pick = guide.pick.bind(guide);
      return { ...guide, pick: (count) => steps.ended().then(() => pick(count)) };
    },
    steps: 1000,
    tasksPerStep,
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
    async run() {
      const { seconds, metrics } = await steps.next();
      return { seconds, tokens: metrics[metric.sampledTokens], ...describe?.(metrics, seconds) };
    },
    async close() {
      stop.abort();
      steps.release();
      await finished;
      await policy.engine.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Holds a loop back at the beginning of each step, and times what lies between. */
function stepByStep() {
  let metrics: Readonly<Record<string, number>> = {};
  /** For the gate, before the step began: the trainer counts it as time of the rollouts. */
  let waited = 0;
  let arrived = Promise.withResolvers<void>();
  let gate = Promise.withResolvers<void>();
  return {
    /** The loop is at the beginning of a step: the one before is over. */
    async ended(): Promise<void> {
      const since = performance.now();
      arrived.resolve();
      await gate.promise;
      waited = (performance.now() - since) / 1000;
    },
    measured(given: Readonly<Record<string, number>>): void {
      const rollout = metric.seconds("rollout");
      metrics = { ...given, [rollout]: given[rollout] - waited };
    },
    isReady: (): Promise<void> => arrived.promise,
    async next() {
      const start = performance.now();
      arrived = Promise.withResolvers();
      const opened = gate;
      gate = Promise.withResolvers();
      opened.resolve();
      await arrived.promise;
      return { seconds: (performance.now() - start) / 1000, metrics };
    },
    release: (): void => gate.resolve(),
    fail: (error: unknown): void => arrived.reject(error),
  };
}
