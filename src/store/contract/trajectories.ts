import { describe, expect, test } from "vitest";
import { defined } from "../../defined.ts";
import { createRng, type Rng } from "../../random.ts";
import { annotated, fakeTask, fakeTrajectory } from "../../schema/fake-trajectory.ts";
import { hintOf, type Trajectory } from "../../schema/index.ts";
import { heldOutSplit, type TrajectoryFilter, type TrajectorySummary, trainSplit } from "../store.ts";
import { everyPage, fakeGroup, type StoreContext } from "./context.ts";

export function trajectoriesContract(context: StoreContext): void {
  describe("trajectories", () => {
    test("a group comes back bit by bit", async () => {
      const rng = createRng(1);
      const groups = [fakeGroup(rng, "a", 3), fakeGroup(rng, "b", 0), fakeGroup(rng, "c", 1)];
      await context.append(4, { groups: groups.map((group) => ({ group, split: "train" })) });
      await context.reopen();
      const { trajectories } = await context.run.trajectories({}, { order: "oldest" });
      const stored = await context.run.group(trajectories[0].group);
      expect(stored).toStrictEqual({ ...groups[0], step: 4, split: "train", members: trajectories.slice(0, 3) });
      const last = await context.run.trajectory(trajectories[3].key);
      expect(last).toStrictEqual({
        summary: trajectories[3],
        task: groups[2].task,
        trajectory: groups[2].trajectories[0],
      });
    });

    test("advantages come back where there were some, and go with their step", async () => {
      const rng = createRng(9);
      const spoken = fakeGroup(rng, "a", 12).trajectories.filter(({ turns }) => turns.length > 1);
      const group = { task: fakeTask(rng, "a"), trajectories: spoken.slice(0, 3) };
      const [flat, varied] = group.trajectories;
      const advantages = new Map([
        [flat.id, Float32Array.from(flat.mask_T, (mask) => (mask === 1 ? -0.25 : 0))],
        [varied.id, Float32Array.from(varied.mask_T, (mask, t) => (mask === 1 ? t / 7 - 1 : 0))],
      ]);
      await context.append(1, { groups: [{ group, split: "train", advantages }] });
      await context.append(2, { groups: [{ group: fakeGroup(rng, "b", 1), split: "train" }] });
      await context.reopen();
      const read = async () => {
        const { trajectories } = await context.run.trajectories({}, { order: "oldest" });
        return Promise.all(trajectories.map(async ({ key }) => (await context.run.trajectory(key)).advantages_T));
      };
      expect(await read()).toEqual([advantages.get(flat.id), advantages.get(varied.id), undefined, undefined]);
      await context.run.truncateAfter(0);
      await context.append(1, { groups: [{ group, split: "train" }] });
      expect(await read()).toEqual([undefined, undefined, undefined]);
    });

    test("annotations come back, with their tasks and in summaries, and are found by name and kind", async () => {
      const rng = createRng(11);
      const hint = { kind: "plan", text: "add\n3 \u2028" };
      const { task, trajectories } = fakeGroup(rng, "a", 3);
      const annotations = [
        { hint: { ...hint, prompt_P: Int32Array.of(5, 0, 151_936) } },
        { goal: { kind: "relabelled", cells: [1, null] }, seen: true },
      ];
      const group = {
        task: { ...task, difficulty: 0.5, parent: "b", annotations: { hint, failures: [0, -0.5] } },
        trajectories: trajectories.map((each, i) => (i === 2 ? each : annotated(each, annotations[i]))),
      };
      await context.append(1, { groups: [{ group, split: "train" }] });
      await context.reopen();
      const { trajectories: found } = await context.run.trajectories({}, { order: "oldest" });
      const kinds = [{ hint: "plan" }, { goal: "relabelled", seen: "" }, undefined];
      expect(found.map((summary) => summary.annotations)).toEqual(kinds);
      expect(await context.run.group(found[0].group)).toMatchObject(group);
      const matching = async (filter: TrajectoryFilter["annotations"]) =>
        (await context.run.trajectories({ annotations: filter! }, { order: "oldest" })).trajectories.map(({ id }) =>
          group.trajectories.findIndex((each) => each.id === id),
        );
      expect(await matching({ hint: true })).toEqual([0]);
      expect(await matching({ hint: false })).toEqual([1, 2]);
      expect(await matching({ goal: "relabelled", seen: true })).toEqual([1]);
      expect(await matching({ goal: "another" })).toEqual([]);
      expect(await matching({ goal: true, seen: false })).toEqual([]);
      await context.run.truncateAfter(0);
      await context.append(1, { groups: [{ group: fakeGroup(rng, "b", 1), split: "train" }] });
      expect(await context.run.countTrajectories({ annotations: { hint: true } })).toBe(0);
    });

    test("a summary says what lists show", async () => {
      const rng = createRng(2);
      const group = fakeGroup(rng, "a", 1, { stop: "max-turns", score: { total: 0.5, parts: {}, success: true } });
      await context.append(7, { groups: [{ group, split: "eval" }] });
      const [summary] = (await context.run.trajectories()).trajectories;
      expect(summary).toMatchObject(expectedSummary(group.trajectories[0], 7, "eval"));
    });

    test("names of tools that differ in lone surrogates alone are one name", async () => {
      const rng = createRng(12);
      const call = { arguments: {}, outcome: "unknown-tool", observation: "" } as const;
      const calls = ["\ud800", "\ud801", "search"].map((name) => ({ ...call, name }));
      const turn = { span: { start: 0, end: 0 }, text: "", calls, reward: 0, observation: "" };
      const group = { task: fakeTask(rng, "a"), trajectories: [fakeTrajectory(rng, { turns: [turn] }, { turns: 0 })] };
      await context.append(1, { groups: [{ group, split: "train" }] });
      const { trajectories } = await context.run.trajectories({ tool: "\ud801" });
      expect(trajectories.map(({ tools }) => tools)).toEqual([["\ufffd", "search"]]);
    });

    test("groups that are removed are gone from lists, counts and searches, and others stay", async () => {
      const rng = createRng(13);
      const spoken = fakeGroup(rng, "a", 12).trajectories.filter(({ turns }) => turns.length > 1);
      const hint = { kind: "plan", text: "go on", prompt_P: Int32Array.of(1) };
      const turn = { span: { start: 0, end: 0 }, text: "unmistakable", reward: 0, observation: "" };
      const call = { name: "lookup", arguments: {}, outcome: "ok", observation: "" } as const;
      const told = fakeTrajectory(rng, { id: "told", taskId: "a", turns: [{ ...turn, calls: [call] }] }, { turns: 0 });
      const first = { task: fakeTask(rng, "a"), trajectories: [annotated(spoken[0], { hint }), told] };
      const advantages = new Map([[spoken[0].id, Float32Array.from(spoken[0].mask_T)]]);
      const second = fakeGroup(rng, "b", 2);
      await context.append(3, {
        groups: [
          { group: first, split: "held-out", advantages },
          { group: second, split: "held-out" },
        ],
      });
      const [{ group: key }] = (await context.run.trajectories({}, { order: "oldest" })).trajectories;
      const third = fakeGroup(rng, "c", 1);
      await context.append(3, { removeGroups: [key, key, 12_345], groups: [{ group: third, split: "held-out" }] });
      await context.reopen();
      const left = await everyPage(context.run, {}, { order: "oldest" });
      expect(left.map(({ taskId }) => taskId)).toEqual(["b", "b", "c"]);
      expect(await context.run.countTrajectories({ split: "held-out" })).toBe(3);
      expect(await context.run.countTrajectories({ text: "unmistakable" })).toBe(0);
      expect(await context.run.countTrajectories({ tool: "lookup" })).toBe(0);
      expect(await context.run.countTrajectories({ annotations: { hint: true } })).toBe(0);
      await expect(context.run.group(key)).rejects.toThrow("no-such-group");
      expect(await context.run.group(left[2].group)).toMatchObject(third);
      // keys of steps that were forgotten come again: nothing of the removed ones must stick to them
      await context.run.truncateAfter(2);
      await context.append(3, { groups: [{ group: fakeGroup(rng, "d", 1), split: "train" }] });
      const [again] = (await context.run.trajectories()).trajectories;
      expect(again.annotations).toBeUndefined();
      expect((await context.run.trajectory(again.key)).advantages_T).toBeUndefined();
    });

    test("held-out and training attempts are told apart by their split", async () => {
      const rng = createRng(14);
      const [train, heldOut] = [fakeGroup(rng, "a", 2), fakeGroup(rng, "b", 3)];
      await context.append(1, {
        groups: [
          { group: train, split: trainSplit },
          { group: heldOut, split: heldOutSplit },
        ],
      });
      const found = async (filter: TrajectoryFilter) =>
        (await everyPage(context.run, filter, { order: "oldest" })).map(({ taskId }) => taskId);
      expect(await found({ split: trainSplit })).toEqual(["a", "a"]);
      expect(await found({ split: heldOutSplit })).toEqual(["b", "b", "b"]);
      expect(await found({ split: heldOutSplit, steps: { to: 0 } })).toEqual([]);
    });

    test("keys that are not there are refused", async () => {
      await expect(context.run.trajectory(5)).rejects.toThrow("no-such-trajectory: got trajectory 5");
      await expect(context.run.group(5)).rejects.toThrow("no-such-group: got group 5");
    });

    test("any filter gives what looking at all of them gives, page by page, in both orders", async () => {
      const rng = createRng(3);
      const all = await recordMany(rng);
      for (let round = 0; round < 120; round++) {
        const filter = randomFilter(rng, all);
        const expected = all.filter((trajectory) => matches(trajectory, filter));
        const limit = 1 + rng.integer(20);
        const oldest = await everyPage(context.run, filter, { limit, order: "oldest" });
        expect(oldest.map(({ id }) => id)).toEqual(expected.map(({ id }) => id));
        expect(await everyPage(context.run, filter, { limit })).toEqual(oldest.toReversed());
        expect(await context.run.countTrajectories(filter)).toBe(expected.length);
      }
    });

    test("a page that is full exactly is the last one", async () => {
      await context.append(1, { groups: [{ group: fakeGroup(createRng(4), "a", 6), split: "train" }] });
      const first = await context.run.trajectories({}, { limit: 3 });
      const second = await context.run.trajectories({}, { limit: 3, after: first.next! });
      expect(first.trajectories).toHaveLength(3);
      expect(second.trajectories).toHaveLength(3);
      expect(second.next).toBeUndefined();
      await expect(context.run.trajectories({}, { limit: 0 })).rejects.toThrow("bad-page: got limit 0");
    });

    test("a reward that is no number is in no range", async () => {
      const score = { total: Number.NaN, parts: {}, success: false };
      await context.append(1, { groups: [{ group: fakeGroup(createRng(5), "a", 1, { score }), split: "train" }] });
      expect(await context.run.countTrajectories({ reward: { min: -1 } })).toBe(0);
      expect((await context.run.trajectories()).trajectories[0].reward).toBeNaN();
    });

    test("text is found wherever it was said, as words that follow each other", async () => {
      const rng = createRng(6);
      const turn = { span: { start: 0, end: 0 }, text: "", calls: [], reward: 0, observation: "" };
      const call = {
        name: "lookup",
        arguments: { query: "Größe 東京タワー" },
        outcome: "ok",
        observation: "ENOENT: gone",
      };
      const empty = (id: string, fields: object, rest: Partial<Trajectory> = {}) =>
        fakeTrajectory(rng, { id, rollout: id, turns: [{ ...turn, ...fields }], ...rest }, { turns: 0 });
      const trajectories = [
        empty("said", { text: 'The "quick" brown-fox AND (jumps' }),
        empty("called", { calls: [call] }),
        empty("answered", { observation: "quick as brown" }),
        empty("failed", {}, { stop: "env-crash", failure: "out of memory" }),
      ];
      const group = { task: fakeTask(rng, "task-0"), trajectories };
      await context.append(1, { groups: [{ group, split: "train" }] });
      const found = async (text: string, filter: TrajectoryFilter = {}) => {
        const summaries = await everyPage(context.run, { ...filter, text }, { order: "oldest" });
        expect(await context.run.countTrajectories({ ...filter, text })).toBe(summaries.length);
        return summaries.map(({ id }) => id);
      };
      expect(await found("quick")).toEqual(["said", "answered"]);
      expect(await found("QUICK bro")).toEqual([]);
      expect(await found("QUICK bro*")).toEqual(["said"]);
      expect(await found('"quick" brown-fox AND (ju* ')).toEqual(["said"]);
      expect(await found("brown quick")).toEqual([]);
      expect(await found("京タワ")).toEqual(["called"]);
      expect(await found("enoent")).toEqual(["called"]);
      expect(await found("lookup", { tool: "lookup" })).toEqual(["called"]);
      expect(await found("quick", { tool: "lookup" })).toEqual([]);
      expect(await found("memory")).toEqual(["failed"]);
      expect(await found("memory", { stop: "completed" })).toEqual([]);
      expect(await found("quick", { steps: { from: 2 } })).toEqual([]);
      expect(await found("  ")).toEqual(["said", "called", "answered", "failed"]);
      for (const hostile of ['"', "*", "\u0000", "a OR b NOT", "^x", "text:quick", "'; DROP TABLE trajectories;"]) {
        expect(await found(hostile)).toEqual([]);
      }
    });

    async function recordMany(rng: Rng): Promise<(TrajectorySummary | ReturnType<typeof expectedSummary>)[]> {
      const all = [];
      for (let step = 0; step < 12; step++) {
        const split = step % 4 === 3 ? "eval" : "train";
        const hint = { kind: step % 2 === 0 ? "plan" : "feedback", text: "go on", prompt_P: Int32Array.of(1) };
        const plain = fakeGroup(rng, `task-${rng.integer(4)}`, 4);
        const other = fakeGroup(rng, `task-${rng.integer(4)}`, 4);
        const hinted = other.trajectories.map((trajectory) => annotated(trajectory, { hint }));
        const groups = [plain, step % 3 === 1 ? { ...other, trajectories: hinted } : other];
        await context.append(step, { groups: groups.map((group) => ({ group, split })) });
        const trajectories = groups.flatMap((group) => group.trajectories);
        all.push(...trajectories.map((trajectory) => expectedSummary(trajectory, step, split)));
      }
      return all;
    }
  });
}

function expectedSummary(trajectory: Trajectory, step: number, split: string) {
  const { id, rollout, taskId, role, stop, weight, score, turns, tokens_T } = trajectory;
  const tools = [...new Set(turns.flatMap(({ calls }) => calls.map(({ name }) => name)))];
  const hint = hintOf(trajectory);
  const counts = { turns: turns.length, tokens: tokens_T.length };
  return {
    step,
    split,
    id,
    rollout,
    taskId,
    role,
    stop,
    weight,
    reward: score.total,
    success: score.success,
    tools,
    ...counts,
    ...defined({ annotations: hint === undefined ? undefined : { hint: hint.kind } }),
  };
}

type Shown = ReturnType<typeof expectedSummary> | TrajectorySummary;

function randomFilter(rng: Rng, all: readonly Shown[]): TrajectoryFilter {
  const example = all[rng.integer(all.length)];
  const sometimes = <Value>(value: Value) => (rng.next() < 0.25 ? value : {});
  return {
    ...sometimes({ steps: { from: rng.integer(12), ...sometimes({ to: rng.integer(12) }) } }),
    ...sometimes({ split: example.split }),
    ...sometimes({ taskId: example.taskId }),
    ...sometimes({ stop: example.stop }),
    ...sometimes({ success: example.success }),
    ...sometimes({ tool: ["search", "browse", "unheard-of"][rng.integer(3)] }),
    ...sometimes({ reward: { min: example.reward - 0.1, ...sometimes({ max: example.reward }) } }),
    ...sometimes({ annotations: { hint: [true, false, "plan"][rng.integer(3)] } }),
    ...defined({
      rollout: rng.next() < 0.05 ? example.rollout : undefined,
      role: rng.next() < 0.05 ? example.role : undefined,
    }),
  };
}

function matches(trajectory: Shown, filter: TrajectoryFilter): boolean {
  const { steps = {}, reward = {}, tool } = filter;
  const isSame = (["split", "taskId", "rollout", "role", "stop", "success"] as const).every(
    (field) => filter[field] === undefined || filter[field] === trajectory[field],
  );
  const isInSteps = trajectory.step >= (steps.from ?? 0) && trajectory.step <= (steps.to ?? Infinity);
  const isInRange = trajectory.reward >= (reward.min ?? -Infinity) && trajectory.reward <= (reward.max ?? Infinity);
  const [wanted, hint] = [filter.annotations?.hint, trajectory.annotations?.hint];
  const isAnnotated = wanted === undefined || wanted === (typeof wanted === "string" ? hint : hint !== undefined);
  return isSame && isAnnotated && isInSteps && isInRange && (tool === undefined || trajectory.tools.includes(tool));
}
