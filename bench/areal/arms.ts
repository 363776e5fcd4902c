import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lock } from "../../src/env/environments/lock.ts";
import { metric } from "../../src/schema/metric-names.ts";
import type { RunEvent } from "../../src/schema/run-event.ts";
import type { InterruptMode } from "../../src/train/async/async-options.ts";
import { fromRun } from "../../src/train/from-run.ts";
import { fromScratch } from "../../src/train/from-scratch.ts";
import { areal } from "../../src/train/presets/off-policy.ts";
import { train } from "../../src/train/train-sync.ts";
import { imitate } from "../../src/train/warm-start.ts";

export interface Arm {
  /** Infinity is written as null. */
  readonly staleness: number | null;
  readonly method: "naive" | "decoupled";
  readonly interrupt: InterruptMode;
}

export interface ArmRecord extends Arm {
  readonly seed: number;
  readonly before: number;
  readonly after: number;
  readonly rolloutsPerSecond: number;
  /** Mean age of the tokens that were learned from, in steps. */
  readonly age: number;
}

export const stalenesses = [0, 1, 4, 16, null] as const;
export const arms: readonly Arm[] = [
  ...stalenesses.flatMap((staleness) =>
    (["naive", "decoupled"] as const).map((method): Arm => ({ staleness, method, interrupt: "recompute" })),
  ),
  { staleness: 4, method: "decoupled", interrupt: "keep" },
  { staleness: 4, method: "decoupled", interrupt: "wait" },
];

export const settings = {
  digits: 2,
  base: 5,
  steps: 60,
  tasksPerStep: 8,
  groupSize: 8,
  learningRate: 2e-3,
  miniBatches: 4,
  heldOut: 200,
};

const env = () => lock({ digits: settings.digits, base: settings.base });
const policy = () => fromScratch({ size: "tiny" });

/** All arms of one seed, from one warm start. */
export async function* runArms(seed: number, signal: AbortSignal): AsyncGenerator<ArmRecord> {
  const folder = mkdtempSync(join(tmpdir(), "ludus-areal-"));
  const run = join(folder, "start");
  try {
    const warmStart = imitate({ demonstrations: 4000, noise: 0.6, steps: 400, batchSize: 64, learningRate: 3e-3 });
    const start = {
      env: env(),
      policy: policy(),
      algorithm: areal(),
      warmStart,
      steps: 0,
      eval: { tasks: 0 },
      run,
      seed,
    };
    await (await train({ ...start, signal })).policy.engine.close();
    for (const arm of arms) {
      signal.throwIfAborted();
      yield await runArm(arm, run, seed, signal);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runArm(arm: Arm, start: string, seed: number, signal: AbortSignal): Promise<ArmRecord> {
  const { steps, tasksPerStep, groupSize, learningRate, miniBatches, heldOut } = settings;
  const ends: { atMs: number; age: number }[] = [];
  const monitor = {
    name: "bench",
    record(event: RunEvent) {
      if (event.type !== "step-end") return;
      ends.push({ atMs: performance.now(), age: event.metrics[metric.stalenessMean] ?? 0 });
    },
  };
  const decoupled = arm.method === "decoupled";
  const {
    before,
    after,
    policy: trained,
  } = await train({
    env: env(),
    policy: policy(),
    warmStart: fromRun(start),
    algorithm: areal({ groupSize, learningRate, miniBatches, decoupled }),
    async: { staleness: arm.staleness ?? Number.POSITIVE_INFINITY, interrupt: arm.interrupt },
    steps,
    tasksPerStep,
    eval: { tasks: heldOut },
    monitors: [monitor],
    seed,
    signal,
  });
  await trained.engine.close();
  const seconds = (ends.at(-1)!.atMs - ends[0].atMs) / 1000;
  return {
    ...arm,
    seed,
    before: before!.success.mean,
    after: after!.success.mean,
    rolloutsPerSecond: ((ends.length - 1) * tasksPerStep * groupSize) / seconds,
    age: ends.reduce((sum, { age }) => sum + age, 0) / ends.length,
  };
}
