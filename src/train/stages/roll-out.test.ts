import { expect, test } from "vitest";
import { defineEnv } from "../../env/define-env.ts";
import { inOrder } from "../../guide/in-order.ts";
import { createLimiter } from "../../limiter.ts";
import type { World } from "../../rollout/world.ts";
import type { TrajectoryGroup } from "../../schema/trajectory-group.ts";
import { generated } from "../../task/generated.ts";
import { fakePolicy } from "../fixtures/fake-policy.ts";
import { letters } from "../fixtures/letters.ts";
import { dapo, grpo } from "../presets/grpo.ts";
import { gather } from "./gather.ts";
import { rewardStage } from "./reward.ts";
import type { StepContext } from "./stage-context.ts";

function contextOf<Data>(world: World<Data>): StepContext<Data> {
  return {
    world,
    policy: fakePolicy(),
    algorithm: grpo({ groupSize: 4 }),
    guide: inOrder()(world, "train"),
    rollout: {},
    tasksPerStep: 6,
    roles: world.roles,
    learners: ["policy"],
    limit: createLimiter(100),
    step: 3,
    learningStep: 3,
    progress: 0,
    seed: 0,
  };
}

async function gathered<Data>(context: StepContext<Data>) {
  const result = await gather(context, rewardStage());
  if (result === undefined) throw new Error("stopped");
  return result;
}

test("groups have names, seeds and temperature of their step", async () => {
  const given = contextOf(letters());
  const algorithm = { ...given.algorithm, sampling: { temperature: (progress: number) => 1 - progress / 2 } };
  const { groups } = await gathered({ ...given, algorithm, progress: 0.5 });
  expect(groups.map(({ rollouts }) => rollouts[0].id)).toEqual([0, 1, 2, 3, 4, 5].map((i) => `step-3/${i}/0`));
  expect(new Set(groups.flatMap(({ trajectories }) => trajectories.map(({ temperature }) => temperature)))).toEqual(
    new Set([0.75]),
  );
});

test("of two opponents, each group is chosen by what one of them won", async () => {
  // the first always wins: nothing to learn for either, though rewards differ from one to the other
  const duel = defineEnv({
    name: "duel",
    tasks: generated(() => 0),
    start: () => ({ state: {}, say: "a" }),
    act: ({ role }) => (role === "one" ? { next: "two", say: "b" } : { done: true }),
    score: ({ role }) => (role === "one" ? 1 : -1),
    roles: ["one", "two"],
  });
  const { groups, selection } = await gathered(contextOf(duel));
  expect(groups).toHaveLength(6);
  expect(selection.groups).toEqual([]);
});

test("more is rolled out, under new names, until there is enough for each role", async () => {
  const given = { ...contextOf(letters({ turns: 1 })), algorithm: dapo({ groupSize: 2, maxRefills: 20 }) };
  const { groups, selection } = await gathered(given);
  expect(selection.groups).toHaveLength(6);
  expect(groups.length).toBeGreaterThan(6);
  const names = groups.map(({ rollouts }) => rollouts[0].id);
  expect(new Set(names).size).toBe(groups.length);
  expect(new Set(groups.map(({ task }) => task.id)).size).toBe(groups.length);
});

test("a guide sees each group once, and nothing of a step that is broken off", async () => {
  const abort = new AbortController();
  const seen: TrajectoryGroup[] = [];
  const given = contextOf(letters());
  const guide = { ...given.guide, observe: (groups: readonly TrajectoryGroup[]) => void seen.push(...groups) };
  const { groups } = await gathered({ ...given, guide, signal: abort.signal });
  expect(seen).toEqual(groups);
  const policy = fakePolicy(0.5, { beforeSample: () => abort.abort() });
  expect(await gather({ ...given, guide, policy, signal: abort.signal }, rewardStage())).toBeUndefined();
  expect(seen).toHaveLength(6);
});
