import { describe, expect, test } from "vitest";
import { defineEnv } from "../../env/define-env.ts";
import type { LeasedGroup } from "../../guide/guide.ts";
import type { World } from "../../rollout/world.ts";
import type { Trajectory } from "../../schema/trajectory.ts";
import type { TrajectoryGroup } from "../../schema/trajectory-group.ts";
import { generated } from "../../task/generated.ts";
import { fakePolicy } from "../fixtures/fake-policy.ts";
import { type LettersTask, letters } from "../fixtures/letters.ts";
import { contextOf as firstStep } from "../fixtures/step-context.ts";
import { dapo } from "../presets/grpo.ts";
import { gather } from "./gather.ts";
import type { StepContext } from "./stage-context.ts";

const contextOf = <Data>(world: World<Data>) => firstStep(world, { step: 3, learningStep: 3 });

async function gathered<Data>(context: StepContext<Data>) {
  const result = await gather(context);
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
  const seen: LeasedGroup[] = [];
  const given = contextOf(letters());
  const guide: typeof given.guide = {
    ...given.guide,
    observe(results) {
      seen.push(...results);
      return given.guide.observe(results);
    },
  };
  const { groups } = await gathered({ ...given, guide, signal: abort.signal });
  expect(seen.map(({ group }) => group)).toEqual(groups);
  expect(seen.map(({ lease }) => lease.task)).toEqual(groups.map(({ task }) => task));
  const policy = fakePolicy(0.5, { beforeSample: () => abort.abort() });
  expect(await gather({ ...given, guide, policy, signal: abort.signal })).toBeUndefined();
  expect(seen).toHaveLength(6);
});

describe("groups that a guide adds", () => {
  const relabelled = ({ task, trajectories }: TrajectoryGroup<LettersTask>, change: Partial<Trajectory>) => ({
    task: { ...task, id: `${task.id}/relabelled`, parent: task.id },
    trajectories: trajectories.map((each) => ({ ...each, taskId: `${task.id}/relabelled`, ...change })),
  });
  const collected = (change: Partial<Trajectory>) => {
    const given = contextOf(letters());
    const observe: typeof given.guide.observe = (results) => [relabelled(results[0].group, change)];
    return gathered({ ...given, guide: { ...given.guide, observe } });
  };

  test("are there beside what was sampled, and no filter has a say", async () => {
    const { groups, extra } = await collected({ id: "other", rollout: "other" });
    expect([groups.length, extra.length]).toEqual([6, 1]);
    expect(extra[0].task.parent).toBe(groups[0].task.id);
  });

  test("with names of what was sampled are refused", async () => {
    await expect(collected({})).rejects.toThrow("bad-extra-group: got a trajectory with the id step-3/0/0/");
    await expect(collected({ id: "other" })).rejects.toThrow("with the rollout step-3/0/0 of one that was sampled");
  });
});
