import { z } from "zod";
import { defined } from "../defined.ts";
import { policyWeights } from "../engine/engine.ts";
import { LudusError } from "../errors.ts";
import { createRng } from "../random.ts";
import { metric } from "../schema/metric-names.ts";
import type { RunEndReason } from "../schema/run-event.ts";
import { makeTrainBatch } from "../schema/train-batch.ts";
import type { Trajectory } from "../schema/trajectory.ts";
import type { TrajectoryGroup } from "../schema/trajectory-group.ts";
import { seedOf } from "../task/seeds.ts";
import { toJson } from "./describe-config.ts";
import type { LearnRow } from "./learn-row.ts";
import type { LearningPolicy } from "./learning-policy.ts";
import type { Example, OfflineAlgorithm } from "./offline-algorithm.ts";
import { forwardRows } from "./row-forward.ts";
import { RunFolder, type RunFolderOptions } from "./run-folder.ts";
import { shuffled } from "./shuffled.ts";
import { update } from "./update.ts";
import { copyWeights, referenceOf } from "./weights.ts";

type Source<Value> = Iterable<Value> | AsyncIterable<Value>;

/**
 * Learning from what is there, without an environment:
 *
 *     const run = await openRun("runs/first", { readOnly: true });
 *     await trainOffline({ policy, groups: storedGroups(run), algorithm: dpo({ pairs: stepPairs }), epochs: 2 });
 */
export interface OfflineConfig extends RunFolderOptions {
  policy: LearningPolicy;
  /** Attempts by task; or attempts alone, which are put together by their tasks. All are held in memory. */
  groups?: Source<TrajectoryGroup>;
  trajectories?: Source<Trajectory>;
  algorithm: OfflineAlgorithm;
  /** How often all examples are gone through, 1 by default; or how many steps are made. */
  epochs?: number;
  steps?: number;
  /** Examples a step, 32 by default. */
  batchSize?: number;
  seed?: number;
  /** Abort it to stop after the step in progress, with everything saved. */
  signal?: AbortSignal;
}

export interface OfflineResult {
  readonly reason: RunEndReason;
  readonly steps: number;
  readonly examples: number;
  /** Metrics of the last step. */
  readonly metrics: Readonly<Record<string, number>>;
}

export async function trainOffline(config: OfflineConfig): Promise<OfflineResult> {
  const { policy, algorithm, batchSize = 32, seed = 0, signal } = config;
  const { engine } = policy;
  const examples = algorithm.examples(await allGroups(config));
  if (examples.length === 0) {
    throw new LudusError("no-examples", {
      got: `data of which ${algorithm.name} makes no example`,
      expected: "at least one",
      hint: "Did no attempt succeed, or all attempts at each task do equally well?",
    });
  }
  const steps = stepsOf(config, examples.length);
  const folder = await RunFolder.open(config, steps);
  try {
    const first = await start(folder, config, examples.length);
    let metrics: Record<string, number> = {};
    for (let step = first; step < steps && signal?.aborted !== true; step++) {
      const started = performance.now();
      const rows = batchOf(examples, step, Math.min(batchSize, examples.length), seed);
      const prepared = { rows: await withReference(policy, algorithm, rows), metrics: {} };
      const stages = { ...algorithm, epochs: 1, miniBatches: 1 };
      metrics = await update({ engine, algorithm: stages, prepared, step, progress: step / steps, seed });
      const times = { [metric.seconds("update")]: (performance.now() - started) / 1000 };
      await folder.keep(step, { metrics: { ...metrics, ...times }, groups: [], state: { examples: examples.length } });
      await folder.saveIfDue(engine);
    }
    const reason = signal?.aborted ? "stopped" : "finished";
    await folder.save(engine);
    await folder.end(reason);
    return { reason, steps: folder.lastStep + 1, examples: examples.length, metrics };
  } finally {
    await folder.close();
  }
}

/** The first step that is to be made. */
async function start(folder: RunFolder, config: OfflineConfig, examples: number): Promise<number> {
  const { policy, algorithm, seed = 0, batchSize = 32 } = config;
  const identity = { algorithm: algorithm.name, seed, batchSize };
  const resumed = await folder.resume(policy.engine, identity);
  if (resumed === undefined) {
    const loss = needsSnapshot(algorithm) ? algorithm.loss : { ...algorithm.loss, needs: {} };
    await copyWeights(policy, { loss }, [policyWeights]);
    const { examples: _examples, ...described } = algorithm;
    await folder.begin(identity, toJson({ algorithm: { ...described, loss: algorithm.loss.name }, batchSize, seed }));
  } else {
    const before = z.object({ examples: z.int() }).parse(resumed.state).examples;
    if (before !== examples) {
      const got = `${examples} examples, where the run began with ${before}`;
      throw new LudusError("other-run", {
        got,
        expected: "the same data",
        hint: "Choose another folder for this run.",
      });
    }
  }
  const name = algorithm.name;
  const at = resumed === undefined ? {} : { resumedAtStep: folder.lastStep };
  folder.monitors.record({ type: "run-start", name, ...at });
  return folder.lastStep + 1;
}

async function allGroups({ groups, trajectories }: OfflineConfig): Promise<TrajectoryGroup[]> {
  if ((groups === undefined) === (trajectories === undefined)) {
    const got = groups === undefined ? "neither groups nor trajectories" : "both groups and trajectories";
    throw new LudusError("bad-config", { got, expected: "one of them" });
  }
  const all: TrajectoryGroup[] = [];
  for await (const group of groups ?? []) all.push(group);
  const byTask = new Map<string, Trajectory[]>();
  for await (const trajectory of trajectories ?? []) {
    const members = byTask.get(trajectory.taskId) ?? [];
    byTask.set(trajectory.taskId, [...members, trajectory]);
  }
  for (const [id, members] of byTask) all.push({ task: { id, seed: 0, data: undefined }, trajectories: members });
  return all;
}

function stepsOf({ steps, epochs, batchSize = 32 }: OfflineConfig, examples: number): number {
  if (!(Number.isInteger(batchSize) && batchSize > 0)) {
    throw new LudusError("bad-config", { got: `batchSize = ${batchSize}`, expected: "a whole number of at least 1" });
  }
  if (steps !== undefined && epochs !== undefined) {
    throw new LudusError("bad-config", { got: "both steps and epochs", expected: "one of them" });
  }
  const wanted = steps ?? Math.ceil(((epochs ?? 1) * examples) / Math.min(batchSize, examples));
  if (Number.isInteger(wanted) && wanted >= 0) return wanted;
  throw new LudusError("bad-config", { got: `steps = ${wanted}`, expected: "a whole number of at least 0" });
}

/** Examples of a step, for the policy to learn from, whoever said it. Each epoch is a random order of its own, so a step's batch depends on its number alone. */
export function batchOf(examples: readonly Example[], step: number, batchSize: number, seed: number): LearnRow[] {
  const orders = new Map<number, readonly number[]>();
  const rows = Array.from({ length: batchSize }, (_, i) => {
    const place = step * batchSize + i;
    const epoch = Math.floor(place / examples.length);
    const order = orders.get(epoch) ?? shuffled(examples.keys(), createRng(seedOf(seed, "offline", epoch)));
    orders.set(epoch, order);
    const example = examples[order[place % examples.length]];
    // an example may be in a batch twice, where one epoch ends and the next begins
    return example.map((row) => ({
      ...row,
      group: `${i}/${row.group}`,
      rollout: `${i}/${row.rollout}`,
      weights: policyWeights,
      ...defined({ preference: row.preference?.pair === undefined ? undefined : { ...row.preference, pair: i } }),
    }));
  }).flat();
  makeTrainBatch(rows);
  return rows;
}

function needsSnapshot({ loss, reference = "snapshot" }: OfflineAlgorithm): boolean {
  return loss.needs.reference === true && reference === "snapshot";
}

async function withReference(
  { engine }: LearningPolicy,
  algorithm: OfflineAlgorithm,
  rows: readonly LearnRow[],
): Promise<readonly LearnRow[]> {
  if (!needsSnapshot(algorithm)) return rows;
  const { logprobs_B_T } = await forwardRows(engine, rows, { weights: referenceOf(policyWeights) });
  return rows.map((row, b) => ({ ...row, referenceLogprobs_T: logprobs_B_T[b] }));
}
