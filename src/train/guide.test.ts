import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ExtraGroups, GuideContext, LeasedGroup, MakeGuide } from "../guide/guide.ts";
import { inOrder } from "../guide/in-order.ts";
import { learnability } from "../guide/learnability.ts";
import { metric } from "../schema/metric-names.ts";
import { openRun } from "../store/index.ts";
import type { Algorithm } from "./algorithm.ts";
import { fakePolicy } from "./fixtures/fake-policy.ts";
import { letters } from "./fixtures/letters.ts";
import { grpo } from "./presets/grpo.ts";
import { remax } from "./presets/reinforce.ts";
import { replayGroups } from "./replay.ts";
import { fifoBuffer } from "./replay-buffer.ts";
import { train } from "./train-sync.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ludus-guide-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const config = (guide: MakeGuide, algorithm: Algorithm = grpo({ groupSize: 4 })) => ({
  env: letters({ turns: 1, alphabet: "abc" }),
  policy: fakePolicy(0.5, { value: () => 0.5 }),
  algorithm,
  guide,
  steps: 3,
  tasksPerStep: 4,
  eval: { tasks: 0 },
  run: folder,
  seed: 11,
});

/** In order, with something else to observe with. */
const observing =
  (
    observe: <Data>(results: readonly LeasedGroup<Data>[]) => ExtraGroups<Data> | Promise<ExtraGroups<Data>>,
  ): MakeGuide =>
  (context) => {
    const inner = inOrder()(context);
    return {
      ...inner,
      async observe(results) {
        await inner.observe(results);
        return observe(results);
      },
    };
  };

/** The first attempt of each group is worth 3 and the others nothing, at another task. */
const relabelling = observing((results) =>
  results.map(({ group: { task, trajectories } }) => ({
    task: { ...task, id: `${task.id}/other`, parent: task.id },
    trajectories: trajectories.map((each, i) => ({
      ...each,
      id: `${each.id}/other`,
      rollout: `${each.rollout}/other`,
      taskId: `${task.id}/other`,
      score: { total: i === 0 ? 3 : 0, parts: {}, success: i === 0 },
    })),
  })),
);

test("a guide is made with the run's seed, and with an engine that it can look at and copy, and nothing else", async () => {
  const made: Omit<GuideContext, "env">[] = [];
  const looking: MakeGuide = (context) => {
    const { env: _env, ...rest } = context;
    made.push(rest);
    return inOrder()(context);
  };
  await train(config(looking));
  const [{ seed, split, engine }] = made;
  expect([made.length, seed, split]).toEqual([1, 11, "train"]);
  expect(Object.keys(engine)).toEqual(["info", "forward", "snapshot", "release"]);
  expect(engine.info.policyVersion).toBe(3);
  const { logprobs_B_T } = await engine.forward({ rows: [{ tokens: [97, 97] }] });
  expect(logprobs_B_T[0]).toHaveLength(2);
});

test("tasks that come again come again in a resumed run, too", async () => {
  const tasks = async (name: string, ...lives: number[]) => {
    const run = join(folder, name);
    const guide = learnability({ fresh: 0.25, capacity: 9 });
    for (const steps of lives) await train({ ...config(guide), steps, run, save: { every: 1 } });
    const stored = await openRun(run, { readOnly: true });
    const { trajectories } = await stored.trajectories({}, { order: "oldest", limit: 200 });
    await stored.close();
    return trajectories.filter(({ id }) => id.split("/")[2] === "0").map(({ taskId }) => taskId);
  };
  const whole = await tasks("whole", 8);
  expect(await tasks("stopped", 2, 3, 8)).toEqual(whole);
  expect(whole).toHaveLength(32);
  expect(new Set(whole).size).toBeLessThan(24);
});

describe("groups that a guide adds", () => {
  test("are learned from off-policy, stored with what was learned, and counted", async () => {
    const { metrics } = await train(config(relabelling));
    expect(metrics[metric.extraGroups]).toBe(4);
    expect(metrics[metric.mismatchMax]).toBeUndefined();
    const run = await openRun(folder, { readOnly: true });
    const { trajectories } = await run.trajectories({ steps: { from: 2 } }, { order: "oldest", limit: 100 });
    const added = trajectories.filter(({ id }) => id.endsWith("/other"));
    expect([trajectories.length, added.length]).toEqual([32, 16]);
    const stored = await Promise.all(added.map(({ key }) => run.trajectory(key)));
    const { group } = added[0];
    expect((await run.group(group)).task.parent).toBe(stored[0].task.id.replace("/other", ""));
    for (const { trajectory, advantages_T } of stored) {
      const advantage = advantages_T![trajectory.mask_T.indexOf(1)];
      expect(Math.sign(advantage)).toBe(trajectory.score.success ? 1 : -1);
    }
    // of the attempts alone
    expect(metrics[metric.reward]).toBeLessThanOrEqual(1);
    await run.close();
  });

  test("are compared with greedy attempts where credit wants that", async () => {
    const { metrics } = await train(config(relabelling, remax({ groupSize: 2 })));
    expect(metrics[metric.extraGroups]).toBe(4);
    expect(Object.entries(metrics).filter(([, value]) => !Number.isFinite(value))).toEqual([]);
  });

  test("are not replayed", async () => {
    const kept: string[] = [];
    const replay = () => {
      const inner = replayGroups({ buffer: fifoBuffer({ capacity: 6 }), share: 0.5 });
      const observe: typeof inner.observe = (groups) => {
        kept.push(...groups.map(({ task }) => task.id));
        inner.observe(groups);
      };
      return { ...inner, observe };
    };
    await train({ ...config(relabelling), replay });
    expect(kept).toHaveLength(12);
    expect(kept.filter((id) => id.endsWith("/other"))).toEqual([]);
  });

  test("absent, leave no metric", async () => {
    const { metrics } = await train(config(inOrder()));
    expect(metrics).not.toHaveProperty(metric.extraGroups);
  });
});

test("what a guide throws ends the run, and is what train throws", async () => {
  const failing = observing(async () => {
    throw new Error("the teacher is away");
  });
  await expect(train(config(failing))).rejects.toThrow("the teacher is away");
});
