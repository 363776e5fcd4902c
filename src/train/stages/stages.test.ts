import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { defineEnv } from "../../env/define-env.ts";
import { createLimiter } from "../../limiter.ts";
import type { Rollout } from "../../rollout/rollout.ts";
import { metric } from "../../schema/metric-names.ts";
import { generated } from "../../task/generated.ts";
import { fakePolicy } from "../fixtures/fake-policy.ts";
import { letters } from "../fixtures/letters.ts";
import { contextOf } from "../fixtures/step-context.ts";
import { pick } from "./pick.ts";
import { rewardStage } from "./reward.ts";
import { type FinishedGroup, rollOut } from "./roll-out.ts";
import type { StepContext } from "./stage-context.ts";
import { stageTimer } from "./stage-timer.ts";

async function finishedGroups<Data>(context: StepContext<Data>, count: number, reward = rewardStage<Data>()) {
  const finished: FinishedGroup<Data>[] = [];
  const leases = await pick(context, count);
  for await (const each of rollOut(context, { leases, offset: 0, reward })) finished.push(each);
  return finished;
}

/** An environment whose scoring waits for `gates[task]`. */
function gated(gates: readonly Promise<unknown>[], onScore: (task: number) => void = () => {}) {
  let next = 0;
  return defineEnv({
    name: "gated",
    tasks: generated(() => next++ % gates.length),
    start: () => ({ state: {}, say: "a" }),
    async score({ task }) {
      onScore(task);
      await gates[task];
      return 1;
    },
  });
}

describe("rollOut", () => {
  test("yields groups as they finish, each with its lease and its place in the step", async () => {
    const slow = Promise.withResolvers<void>();
    const context = contextOf(gated([slow.promise, Promise.resolve()]));
    const leases = await pick(context, 2);
    const finished: number[] = [];
    for await (const { index, lease, group } of rollOut(context, { leases, offset: 3, reward: rewardStage() })) {
      finished.push(index);
      expect(lease).toBe(leases[index - 3]);
      expect(group.task).toBe(lease.task);
      slow.resolve();
    }
    expect(finished).toEqual([4, 3]);
  });

  test("never has more attempts under way than the run's limiter allows, over all groups", async () => {
    let [running, most] = [0, 0];
    const policy = fakePolicy(0.5, {
      async beforeSample() {
        running++;
        most = Math.max(most, running);
        await setImmediate();
        running--;
      },
    });
    const context = contextOf(letters(), { policy, limit: createLimiter(3) });
    expect(await finishedGroups(context, 6)).toHaveLength(6);
    expect(most).toBe(3);
  });

  test("the limit changes no number", async () => {
    const numbers = async (limit: number) => {
      const finished = await finishedGroups(contextOf(letters(), { limit: createLimiter(limit) }), 6);
      const sorted = finished.sort((a, b) => a.index - b.index);
      return sorted.map(({ group }) => group.trajectories.map(({ id, tokens_T, score }) => [id, [...tokens_T], score]));
    };
    expect(await numbers(1)).toEqual(await numbers(100));
  });

  test("whoever stops reading early waits for what is under way", async () => {
    const rollouts: Rollout[] = [];
    const context = contextOf(letters(), { onRollout: (rollout) => rollouts.push(rollout) });
    const leases = await pick(context, 6);
    for await (const _ of rollOut(context, { leases, offset: 0, reward: rewardStage() })) break;
    expect(rollouts).toHaveLength(24);
  });
});

describe("the reward stage", () => {
  test("scores an attempt while others are still being sampled", async () => {
    const order: string[] = [];
    const hold = Promise.withResolvers<void>();
    let samples = 0;
    const policy = fakePolicy(0.5, {
      async beforeSample() {
        // the last attempt is sampled only once another has been scored
        if (++samples === 4) await hold.promise;
        order.push("sampled");
      },
    });
    const world = gated([Promise.resolve()], () => {
      order.push("scored");
      hold.resolve();
    });
    await finishedGroups(contextOf(world, { policy }), 1);
    expect(order.indexOf("scored")).toBeLessThan(order.lastIndexOf("sampled"));
    expect(order.filter((each) => each === "scored")).toHaveLength(4);
  });

  test("that throws is the stop reason of its attempt, made again once and never learned from", async () => {
    let scored = 0;
    const world = gated([Promise.resolve()], () => {
      scored++;
      throw Object.create(null);
    });
    const [{ group }] = await finishedGroups(contextOf(world), 1);
    expect(group.rollouts.map(({ stop }) => stop)).toEqual(Array(4).fill("env-crash"));
    expect(scored).toBe(8);
  });

  test("reports the seconds of scoring", async () => {
    const reward = rewardStage();
    expect(reward.metrics).toEqual({ [metric.seconds("reward")]: 0 });
    await finishedGroups(contextOf(letters()), 2, reward);
    expect(reward.metrics[metric.seconds("reward")]).toBeGreaterThan(0);
  });
});

test("stages are timed by name, also those that throw nothing and return nothing", async () => {
  const timer = stageTimer();
  expect(await timer.time("rollout", async () => 7)).toBe(7);
  await timer.time("update", async () => {});
  expect(Object.keys(timer.metrics)).toEqual([metric.seconds("rollout"), metric.seconds("update")]);
});
