import { z } from "zod";
import { defined } from "../defined.ts";
import { policyWeights } from "../engine/engine.ts";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { createRng } from "../random.ts";
import type { RunEndReason } from "../schema/run-event.ts";
import { makeTrainBatch } from "../schema/train-batch.ts";
import type { Trajectory } from "../schema/trajectory.ts";
import type { TrajectoryGroup } from "../schema/trajectory-group.ts";
import { seedOf } from "../task/seeds.ts";
import { fit } from "./fit.ts";
import { refuseUnknownFields } from "./known-config.ts";
import type { LearnRow } from "./learn-row.ts";
import type { LearningPolicy } from "./learning-policy.ts";
import type { Example, OfflineAlgorithm } from "./offline-algorithm.ts";
import { forwardRows } from "./row-forward.ts";
import { configVersion, type RunConfig, toJson } from "./run-config.ts";
import { type RecorderOptions, RunRecorder } from "./run-recorder.ts";
import { shuffled } from "./shuffled.ts";
import { copyWeights, referenceOf } from "./weights.ts";

type Source<Value> = Iterable<Value> | AsyncIterable<Value>;

/**
 * Learning from what is there, without an environment:
 *
 *     const run = await openRun("runs/first", { readOnly: true });
 *     await trainOffline({ policy, groups: storedGroups(run), algorithm: dpo({ pairs: stepPairs }), epochs: 2 });
 */
export interface OfflineConfig extends RecorderOptions {
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

const knownOfflineConfig: KnownOptions<OfflineConfig> = {
  policy: true,
  groups: true,
  trajectories: true,
  algorithm: true,
  epochs: true,
  steps: true,
  batchSize: true,
  seed: true,
  signal: true,
  run: true,
  store: true,
  save: true,
  monitors: true,
  now: true,
  accept: true,
};

export interface OfflineResult {
  readonly reason: RunEndReason;
  readonly steps: number;
  readonly examples: number;
  /** Metrics of the last step. */
  readonly metrics: Readonly<Record<string, number>>;
}

export async function trainOffline(config: OfflineConfig): Promise<OfflineResult> {
  refuseUnknownOptions("trainOffline", config, knownOfflineConfig);
  refuseUnknownOptions("trainOffline: save", config.save, { every: true, retain: true, retainEvery: true });
  refuseUnknownFields("trainOffline", config.algorithm);
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
  const recorder = await RunRecorder.open(config, steps);
  try {
    const metrics = await fit({
      engine,
      loss: algorithm.loss,
      optimizer: algorithm.optimizer,
      seed,
      steps,
      firstStep: await start(recorder, config, examples.length),
      rows(step) {
        const rows = batchOf(examples, step, Math.min(batchSize, examples.length), seed);
        return withReference(policy, algorithm, rows);
      },
      async record(step, metrics) {
        await recorder.record(step, { metrics, groups: [], state: { examples: examples.length } });
        await recorder.saveIfDue(engine);
      },
      shouldStop: () => signal?.aborted === true,
    });
    const reason = signal?.aborted ? "stopped" : "finished";
    await recorder.save(engine);
    await recorder.end(reason);
    return { reason, steps: recorder.lastStep + 1, examples: examples.length, metrics };
  } catch (error) {
    await recorder.fail(error, engine);
    throw error;
  } finally {
    await recorder.close();
  }
}

/** The first step that is to be made. */
async function start(recorder: RunRecorder, config: OfflineConfig, examples: number): Promise<number> {
  const { policy, algorithm, seed = 0, batchSize = 32, accept } = config;
  const { examples: _examples, ...described } = algorithm;
  const resolved = {
    configVersion,
    ...(toJson({ algorithm: { ...described, loss: algorithm.loss.name }, batchSize, seed }) as RunConfig),
  };
  const resumed = await recorder.resume(policy.engine, resolved, accept);
  if (resumed === undefined) {
    const loss = needsSnapshot(algorithm) ? algorithm.loss : { ...algorithm.loss, needs: {} };
    await copyWeights(policy, { loss }, [policyWeights], false);
    await recorder.begin(resolved);
  } else {
    const before = z.object({ examples: z.int() }).parse(resumed.state).examples;
    if (before !== examples) {
      throw new LudusError("other-run", {
        got: `${examples} examples, where the run began with ${before}`,
        expected: "the same data",
        hint: "Choose another folder for this run.",
      });
    }
  }
  const at = resumed === undefined ? undefined : recorder.lastStep;
  recorder.monitors.record({ type: "run-start", name: algorithm.name, ...defined({ resumedAtStep: at }) });
  return recorder.lastStep + 1;
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
