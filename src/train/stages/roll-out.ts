import { defined } from "../../defined.ts";
import type { Lease } from "../../guide/guide.ts";
import type { Rollout } from "../../rollout/rollout.ts";
import { type RolloutGroup, runGroup } from "../../rollout/run-group.ts";
import { seedOf } from "../../task/seeds.ts";
import { scheduleAt } from "../schedule.ts";
import type { RewardStage } from "./reward.ts";
import type { StepContext } from "./stage-context.ts";

export interface RollOutInput<Data> {
  readonly leases: readonly Lease<Data>[];
  /** Groups that the step already has: names and seeds of these begin there. */
  readonly offset: number;
  readonly reward: RewardStage<Data>;
  /** Tells these groups apart from others of the same step and place. */
  readonly again?: string;
}

/** Attempts at one leased task, all played and scored. */
export interface FinishedGroup<Data = unknown> {
  readonly lease: Lease<Data>;
  /** Its place in the step, whatever the order in which groups finish. */
  readonly index: number;
  readonly group: RolloutGroup<Data>;
}

/**
 * A group of attempts at each task, yielded as they finish. The context's limiter bounds all attempts under way together. Names
 * and seeds follow from step and place, so the order of finishing changes no number.
 */
export async function* rollOut<Data>(
  context: StepContext<Data>,
  { leases, offset, reward, again = "" }: RollOutInput<Data>,
): AsyncGenerator<FinishedGroup<Data>> {
  const { world, policy, algorithm, step, learningStep, progress, seed, signal, limit } = context;
  const { temperature, ...sampling } = algorithm.sampling;
  const onRollout = (rollout: Rollout) => {
    context.failures.add(rollout);
    context.onRollout?.(rollout);
  };
  const runLease = async (lease: Lease<Data>, index: number): Promise<FinishedGroup<Data>> => {
    const id = `step-${step}/${index}${again}`;
    const group = await runGroup(world, lease.task, policy, {
      ...context.rollout,
      ...sampling,
      temperature: scheduleAt(temperature, progress),
      id,
      seed: seedOf(seed, `step-${step}${again}`, index),
      size: algorithm.groupSize,
      concurrency: limit,
      training: { step: learningStep, progress },
      score: reward.score,
      onRollout,
      ...defined({ signal }),
    });
    return { lease, index, group: await reward.scoreGroup(id, group) };
  };
  yield* asFinished(leases.map((lease, i) => runLease(lease, offset + i)));
}

/** Values in the order in which they come. Whoever stops early waits for the rest, so that nothing runs on unheard. */
async function* asFinished<Value>(works: readonly Promise<Value>[]): AsyncGenerator<Value> {
  const arrivals = works.map(() => Promise.withResolvers<Value>());
  for (const { promise } of arrivals) promise.catch(() => {});
  let next = 0;
  for (const work of works) {
    work.then(
      (value) => arrivals[next++].resolve(value),
      (error: unknown) => arrivals[next++].reject(error),
    );
  }
  try {
    for (const { promise } of arrivals) yield await promise;
  } finally {
    await Promise.allSettled(works);
  }
}
