import { describe, expect, test } from "vitest";
import type { FilterGroup, GroupFilter } from "../../credit/group-filter.ts";
import { defineEnv } from "../../env/define-env.ts";
import type { Trajectory } from "../../schema/trajectory.ts";
import { listed } from "../../task/listed.ts";
import { attempt, groupOf } from "../fixtures/attempt.ts";
import { fakePolicy } from "../fixtures/fake-policy.ts";
import { letters } from "../fixtures/letters.ts";
import { contextOf } from "../fixtures/step-context.ts";
import { grpo } from "../presets/grpo.ts";
import { remax } from "../presets/reinforce.ts";
import type { Replay, ReplayContext } from "../replay.ts";
import { complete } from "./complete.ts";
import { rolloutRewards, select } from "./select.ts";

const rolled = (...trajectories: Trajectory[]) => ({ ...groupOf(...trajectories), rollouts: [] });
const roles = ["one", "two"];

/** A filter that notes what it was asked and keeps the last group twice. */
function noting(refill = 0) {
  const asked: { wanted: number; groups: readonly FilterGroup[] }[] = [];
  const filter = (wanted: number): GroupFilter => ({
    name: "noting",
    needs: {},
    choose(groups) {
      asked.push({ wanted, groups });
      return { kept: [{ index: groups.length - 1, scale: 0.5 }], refill, metrics: { "filter/noted": 1 } };
    },
  });
  return { asked, filter };
}

describe("select", () => {
  const world = letters({ roles });
  const played = rolled(
    attempt("a", [[2]], 3, { role: "one" }),
    attempt("a2", [[2]], -3, { role: "two", rollout: "a" }),
    attempt("b", [[2]], 9, { role: "one", stop: "env-crash", failure: "boom" }),
  );

  test("asks the filter for each role apart, without infrastructure failures", () => {
    const { asked, filter } = noting(3);
    const context = contextOf(world, { roles, algorithm: { ...grpo(), filter }, tasksPerStep: 5 });
    const selection = select(context, [played]);
    expect(asked).toEqual([
      {
        wanted: 10,
        groups: [
          { id: "task", rewards_G: [3] },
          { id: "task", rewards_G: [-3] },
        ],
      },
    ]);
    expect(selection).toEqual({
      groups: [{ group: played, role: "two", scale: 0.5 }],
      // three units of two roles are two groups
      refill: 2,
      metrics: { "filter/noted": 1 },
    });
  });

  test("adds the rewards that the algorithm compares a group with", () => {
    const { asked, filter } = noting();
    const compareWith = ({ trajectories }: { trajectories: readonly Trajectory[] }) => [trajectories.length, 7];
    select(contextOf(world, { roles: ["one"], algorithm: { ...grpo(), filter, compareWith } }), [played]);
    expect(asked[0].groups).toEqual([{ id: "task", rewards_G: [3, 1, 7] }]);
  });

  test("counts one reward for each rollout and role", () => {
    const parts = [attempt("a/0", [[2]], 1, { rollout: "a" }), attempt("a/1", [[2]], 1, { rollout: "a" })];
    expect(rolloutRewards([...parts, attempt("b", [[2]], 0)])).toEqual([1, 0]);
  });
});

describe("complete", () => {
  const group = groupOf(attempt("a", [[97]], 1, { taskId: "t" }));
  const selection = { groups: [{ group, role: "agent", scale: 0.5 }], refill: 0, metrics: {} };

  test("is the selection where nothing else is wanted", async () => {
    const completed = await complete(contextOf(letters()), { selection, extra: [] });
    expect(completed).toEqual({ groups: selection.groups, metrics: {} });
  });

  test("adds what the guide wants learned from, once for each role, off-policy", async () => {
    const extra = groupOf(attempt("x", [[97]], 1));
    const completed = await complete(contextOf(letters({ roles }), { roles }), { selection, extra: [extra] });
    expect(completed.groups.slice(1)).toEqual(
      roles.map((role) => ({ group: extra, role, scale: 1, isOffPolicy: true })),
    );
  });

  test("adds what replay draws, which sees what is fresh and draws by seed and step", async () => {
    const asked: ReplayContext[] = [];
    const replayed = { group: groupOf(attempt("old", [[97]], 1)), scale: 0.25 };
    const replay: Replay = {
      observe() {},
      async draw(context) {
        asked.push(context);
        return [replayed];
      },
      state: () => null,
      async restore() {},
    };
    const draws = async (seed: number, step: number) => {
      const context = contextOf(letters(), { replay, seed, step });
      const { groups } = await complete(context, { selection, extra: [] });
      expect(groups).toEqual([...selection.groups, replayed]);
      expect(asked.at(-1)?.fresh).toEqual(selection.groups);
      return asked.at(-1)?.rng.next();
    };
    expect(await draws(1, 2)).toBe(await draws(1, 2));
    expect(new Set([await draws(1, 2), await draws(1, 3), await draws(2, 2)]).size).toBe(3);
  });

  test("compares each group with one greedy attempt, and leaves out those whose attempt failed", async () => {
    let started = 0;
    const world = defineEnv({
      name: "half-broken",
      tasks: listed({ train: ["fine", "broken"], test: ["x"] }),
      start({ task }) {
        started++;
        if (task === "broken") throw new Error("no such task");
        return { state: {}, say: "a" };
      },
      score: () => 0.75,
    });
    const policy = fakePolicy();
    const [fine, broken] = await Promise.all([0, 1].map((index) => world.tasks.at("train", index)));
    const groups = [fine, broken].map((task) => ({ task, trajectories: [attempt(task.id, [[97]], 1)] }));
    const kept = [groups[0], groups[1], groups[0]].map((each) => ({ group: each, role: "agent", scale: 1 }));
    const context = contextOf(world, { algorithm: remax(), policy });
    const completed = await complete(context, { selection: { groups: kept, refill: 0, metrics: {} }, extra: [] });
    expect(started).toBe(2);
    expect(completed.metrics).toMatchObject({ "rollout/rollouts": 2 });
    expect(completed.groups.map(({ group: { task }, baselines }) => [task.data, baselines])).toEqual([
      ["fine", { agent: 0.75 }],
      ["fine", { agent: 0.75 }],
    ]);
    expect(policy.engine.samples.every(({ temperature }) => temperature === 0)).toBe(true);
  });

  test("compares replayed groups with a greedy attempt too, role by role", async () => {
    const world = letters({ roles, turns: 1 });
    const task = await world.tasks.at("train", 0);
    const spoken = roles.map((role) => attempt(role, [[97]], 1, { role }));
    const replay: Replay = {
      observe() {},
      draw: async () => [{ group: { task, trajectories: spoken }, scale: 1 }],
      state: () => null,
      async restore() {},
    };
    const context = contextOf(world, { algorithm: remax(), roles, replay });
    const { groups } = await complete(context, { selection: { groups: [], refill: 0, metrics: {} }, extra: [] });
    expect(groups.map(({ group, baselines }) => [group.trajectories, Object.keys(baselines ?? {})])).toEqual([
      [[spoken[0]], ["one"]],
    ]);
  });

  test("leaves out a role that did not get to speak in the greedy attempt", async () => {
    const world = letters({ roles, turns: 1 });
    const task = await world.tasks.at("train", 0);
    const both = roles.map((role) => ({ group: { task, trajectories: [] }, role, scale: 1 }));
    const context = contextOf(world, { algorithm: remax(), roles });
    const completed = await complete(context, { selection: { groups: both, refill: 0, metrics: {} }, extra: [] });
    expect(completed.groups.map(({ role }) => role)).toEqual(["one"]);
  });
});
