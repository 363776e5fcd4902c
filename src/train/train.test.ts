import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { defined } from "../defined.ts";
import { inOrder } from "../guide/in-order.ts";
import type { FinishedRollout, Monitor } from "../monitor/monitor.ts";
import { metric } from "../schema/metric-names.ts";
import type { RunEvent } from "../schema/run-event.ts";
import { memoryRuns, openRun } from "../store/index.ts";
import { fakePolicy } from "./fixtures/fake-policy.ts";
import { type LettersTask, letters } from "./fixtures/letters.ts";
import { tinyPolicy } from "./fixtures/tiny-policy.ts";
import type { MakePolicy } from "./learning-policy.ts";
import { grpo } from "./presets/grpo.ts";
import { ppo } from "./presets/ppo.ts";
import type { TrainConfig } from "./train.ts";
import { train } from "./train-sync.ts";
import { imitate } from "./warm-start.ts";

let folder: string;
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), "ludus-train-")), "new", "run");
});
afterEach(() => rmSync(join(folder, "..", ".."), { recursive: true, force: true }));

const easy = { env: letters({ turns: 1 }), algorithm: grpo({ groupSize: 4 }), tasksPerStep: 4, eval: { tasks: 2 } };

function events() {
  const all: RunEvent[] = [];
  return { all, monitor: { name: "test", record: (event: RunEvent) => void all.push(event) } };
}

test("a policy learns what is rewarded", async () => {
  const { before, after, policy } = await train({
    env: letters({ alphabet: "a", choices: "abcd" }),
    policy: tinyPolicy(),
    warmStart: imitate({ demonstrations: 60, noise: 0.9, steps: 40, batchSize: 16, learningRate: 1e-2 }),
    algorithm: grpo({ learningRate: 3e-3 }),
    steps: 15,
    tasksPerStep: 8,
    eval: { tasks: 100 },
  });
  await policy.engine.close();
  expect(before!.success.mean).toBeLessThan(0.3);
  expect(after!.success.mean).toBeGreaterThan(0.7);
});

test("the same seed gives the same numbers, another seed others", async () => {
  const numbers = async (seed: number) => {
    const { all, monitor } = events();
    await train({ ...easy, policy: fakePolicy(), steps: 3, seed, monitors: [monitor] });
    return all.flatMap((event) =>
      event.type === "step-end"
        ? [Object.entries(event.metrics).filter(([name]) => !/^(time|speed)\//.test(name))]
        : [],
    );
  };
  const first = await numbers(1);
  expect(await numbers(1)).toEqual(first);
  expect(await numbers(2)).not.toEqual(first);
});

test("monitors are told of every rollout, with the times of its turns", async () => {
  const rollouts: FinishedRollout[] = [];
  const monitor = {
    name: "test",
    record: () => {},
    recordRollout: (rollout: FinishedRollout) => void rollouts.push(rollout),
  };
  await train({ ...easy, policy: fakePolicy(), steps: 2, monitors: [monitor] });
  expect(new Set(rollouts.map(({ id }) => id)).size).toBe(2 * 4 * 4);
  for (const { timing, trajectories } of rollouts) {
    expect(timing.turns).toHaveLength(trajectories[0].turns.length);
    for (const { startMs, saidMs, endMs } of timing.turns!) {
      expect([startMs, saidMs, endMs, timing.totalMs].every((time, i, all) => time >= (all[i - 1] ?? 0))).toBe(true);
    }
  }
});

test("what was learned from is kept with its advantages", async () => {
  await train({ ...easy, policy: fakePolicy(), steps: 2, run: folder });
  const store = await openRun(folder, { readOnly: true });
  const { trajectories } = await store.trajectories({}, { limit: 100 });
  const stored = await Promise.all(trajectories.map(({ key }) => store.trajectory(key)));
  await store.close();
  const groups = [...Map.groupBy(stored, ({ summary }) => summary.group).values()];
  const isMixed = (group: typeof stored) => new Set(group.map(({ summary }) => summary.reward)).size > 1;
  expect(groups.filter(isMixed)).not.toEqual([]);
  for (const group of groups.filter(isMixed)) {
    for (const { advantages_T, trajectory } of group) {
      const rewards = group.map(({ summary }) => summary.reward);
      const mean = rewards.reduce((a, b) => a + b, 0) / rewards.length;
      const sampled = advantages_T!.filter((_, t) => trajectory.mask_T[t] === 1);
      expect(sampled.every((advantage) => Math.sign(advantage) === Math.sign(trajectory.score.total - mean))).toBe(
        true,
      );
      expect(advantages_T!.every((advantage, t) => trajectory.mask_T[t] === 1 || advantage === 0)).toBe(true);
    }
  }
});

describe("a run ends", () => {
  test("when it is finished, with all that happened told", async () => {
    const { all, monitor } = events();
    await train({ ...easy, policy: fakePolicy(), steps: 2, eval: { tasks: 2, every: 1 }, monitors: [monitor] });
    expect(all.map(({ type }) => type)).toEqual([
      ...["run-start", "eval-end", "phase-start", "step-end", "eval-end", "step-end", "eval-end", "run-end"],
    ]);
  });

  test("when success has been high for long enough", async () => {
    // always "a": some tasks are solved always, the others never
    const policy = fakePolicy(1);
    const env = letters({ turns: 1, alphabet: "a" });
    const result = await train({ ...easy, env, policy, steps: 20, earlyStop: { success: 1, window: 3 } });
    expect(result).toMatchObject({ reason: "early-stop", steps: 3 });
  });

  test("when its tokens are spent", async () => {
    // 16 rollouts of two tokens a step
    const result = await train({ ...easy, policy: fakePolicy(), steps: 20, budget: { tokens: 64 } });
    expect(result).toMatchObject({ reason: "token-budget", steps: 2 });
  });

  test("when its time is up", async () => {
    const result = await train({ ...easy, policy: fakePolicy(), steps: 1e6, budget: { seconds: 0.1 } });
    expect(result.reason).toBe("time-budget");
    expect(result.after).toBeDefined();
  });
});

describe("a stop", () => {
  test("in the middle of rollouts discards the step they were of, and saves the one before", async () => {
    const abort = new AbortController();
    let sampled = 0;
    const policy = fakePolicy(0.5, {
      beforeSample() {
        if (++sampled === 2 + 3 * 16 + 5) abort.abort();
      },
    });
    const stopped = await train({
      ...easy,
      policy,
      steps: 10,
      run: folder,
      signal: abort.signal,
      save: { every: 100 },
    });
    expect(stopped).toMatchObject({ reason: "stopped", steps: 3 });
    expect(stopped.after).toBeUndefined();
    expect(readdirSync(join(folder, "checkpoints"))).toEqual(["step-000002"]);
    const reader = await openRun(folder, { readOnly: true });
    expect(await reader.latestStep()).toBe(2);
    expect(await reader.countTrajectories({ split: "train" })).toBe(3 * 16);
    expect(await reader.countTrajectories({ stop: "cancelled" })).toBe(0);
    await reader.close();
  });

  test("and a start go on with the tasks that come next, as if there had been none", async () => {
    const taskIds = async (run: string, steps: number, signal?: AbortSignal) => {
      await train({ ...easy, policy: fakePolicy(), steps, run, ...defined({ signal }) });
      const reader = await openRun(run, { readOnly: true });
      const { trajectories } = await reader.trajectories({ split: "train" }, { order: "oldest", limit: 1000 });
      await reader.close();
      return trajectories.map(({ step, taskId, id }) => `${step} ${taskId} ${id}`);
    };
    await taskIds(join(folder, "a"), 3);
    expect(await taskIds(join(folder, "a"), 6)).toEqual(await taskIds(join(folder, "b"), 6));
  });

  test("in the warm start takes no reference from a policy that is not warm yet", async () => {
    const abort = new AbortController();
    const policy = fakePolicy();
    const warmStart = imitate({ demonstrations: 4, steps: 4, batchSize: 2 });
    const monitor = {
      name: "stop",
      record: (event: RunEvent) => {
        if (event.type === "step-end" && event.step === 1) abort.abort();
      },
    };
    const algorithm = grpo({ groupSize: 4, kl: 0.1 });
    const config = { ...easy, policy, algorithm, warmStart, steps: 2, run: folder };
    expect(await train({ ...config, signal: abort.signal, monitors: [monitor] })).toMatchObject({ steps: 2 });
    expect(policy.engine.info.weights).toEqual(["policy"]);
    expect(await train(config)).toMatchObject({ reason: "finished", steps: 6 });
    expect(policy.engine.info.weights).toEqual(["policy", "reference"]);
  });

  test("during an evaluation makes it up afterwards", async () => {
    const abort = new AbortController();
    let [sampled, evaluation] = [0, { tasks: 2, every: 2 }];
    const policy = fakePolicy(0.5, {
      beforeSample() {
        // before: 2; two steps of 16; then the evaluation of step 1
        if (++sampled === 2 + 2 * 16 + 1) abort.abort();
      },
    });
    const config = { ...easy, policy, steps: 4, run: folder, eval: evaluation };
    expect(await train({ ...config, signal: abort.signal })).toMatchObject({ reason: "stopped", steps: 2 });
    await train(config);
    const reader = await openRun(folder, { readOnly: true });
    expect((await reader.series("eval/success")).map(({ step }) => step)).toEqual([0, 1, 3]);
    await reader.close();
  });
});

describe("a resumed run", () => {
  test("knows what was measured before it began to learn", async () => {
    await train({ ...easy, policy: fakePolicy(), steps: 2, run: folder });
    const { before } = await train({ ...easy, policy: fakePolicy(), steps: 4, run: folder });
    expect(before).toMatchObject({ split: "test", tasks: 2, rollouts: [] });
  });

  test("with another environment, algorithm or seed is refused", async () => {
    await train({ ...easy, policy: fakePolicy(), steps: 1, run: folder });
    const resume = (changes: Partial<TrainConfig<LettersTask>>) =>
      train({ ...easy, policy: fakePolicy(), steps: 2, run: folder, ...changes });
    await expect(resume({ seed: 3 })).rejects.toThrow(/other-run.*seed 0.*seed 3/s);
    await expect(resume({ algorithm: ppo() })).rejects.toThrow(/other-run|value head/);
    await expect(resume({ warmStart: imitate({ steps: 2 }) })).rejects.toThrow(/other-run/);
  });

  test("from a damaged checkpoint is refused, and goes on from the previous one when that is removed", async () => {
    await train({ ...easy, policy: fakePolicy(), steps: 4, run: folder, save: { every: 1 } });
    const newest = join(folder, "checkpoints", "step-000003");
    writeFileSync(join(newest, "training", "checkpoint.json"), "");
    const resume = () => train({ ...easy, policy: fakePolicy(), steps: 4, run: folder, save: { every: 1 } });
    await expect(resume()).rejects.toThrow(/checkpoint-damaged.*step-000003.*step-000002/s);
    rmSync(newest, { recursive: true });
    const { all, monitor } = events();
    await train({ ...easy, policy: fakePolicy(), steps: 4, run: folder, monitors: [monitor] });
    expect(all[0]).toMatchObject({ type: "run-start", resumedAtStep: 2 });
  });

  test("whose record was lost with the machine is refused rather than made up", async () => {
    await train({ ...easy, policy: fakePolicy(), steps: 2, run: folder, save: { every: 1 } });
    const run = await openRun(folder, { now: () => 0 });
    await run.truncateAfter(0);
    await run.close();
    await expect(train({ ...easy, policy: fakePolicy(), steps: 3, run: folder })).rejects.toThrow(/run-incomplete/);
  });

  test("that had ended, or was killed after its last evaluation, does not say the same twice", async () => {
    const config = { ...easy, steps: 2, eval: { tasks: 2, every: 1 }, run: folder, save: { every: 1 } };
    const told = async () => {
      const reader = await openRun(folder, { readOnly: true });
      const events = await reader.events({ types: ["eval-end", "run-end"] });
      await reader.close();
      return events.map(({ step, event }) => [step, event]);
    };
    await train({ ...config, policy: fakePolicy() });
    const before = await told();
    await train({ ...config, policy: fakePolicy() });
    expect(await told()).toEqual(before);
    await train({ ...config, policy: fakePolicy(), steps: 3 });
    expect((await told()).filter(([, event]) => Object(event).type === "run-end")).toHaveLength(1);
  });

  test("whose store was removed from beside its checkpoints is refused, with a way out", async () => {
    await train({ ...easy, policy: fakePolicy(), steps: 2, run: folder, save: { every: 1 } });
    rmSync(join(folder, "run.sqlite"));
    const resumed = train({ ...easy, policy: fakePolicy(), steps: 3, run: folder });
    await expect(resumed).rejects.toThrow(/run-incomplete: .*Put the store back/);
  });

  test("with another learning rate is refused until that is accepted, and then says so", async () => {
    await train({ ...easy, policy: fakePolicy(), steps: 1, run: folder });
    const algorithm = grpo({ groupSize: 4, learningRate: 1e-3 });
    const resume = (accept: string[], monitors: Monitor[] = []) =>
      train({ ...easy, algorithm, policy: fakePolicy(), steps: 2, run: folder, accept, monitors });
    await expect(resume([])).rejects.toThrow(/changed-config.*learningRate "by-size".*learningRate 0.001/s);
    const { all, monitor } = events();
    expect(await resume(["learningRate"], [monitor])).toMatchObject({ reason: "finished", steps: 2 });
    const warnings = all.flatMap((event) => (event.type === "warning" ? [event.message] : []));
    expect(warnings).toEqual(['resumed with accepted changes: algorithm.optimizer.learningRate "by-size" -> 0.001']);
    // what was accepted is what the run has now
    expect(await train({ ...easy, algorithm, policy: fakePolicy(), steps: 3, run: folder })).toMatchObject({
      steps: 3,
    });
  });

  test("is found in whatever store it was written to", async () => {
    const runs = memoryRuns({ checkpoints: folder });
    const config = { ...easy, run: "team/first", store: runs, save: { every: 1 } };
    await train({ ...config, policy: fakePolicy(), steps: 2 });
    const { all, monitor } = events();
    await train({ ...config, policy: fakePolicy(), steps: 3, monitors: [monitor] });
    expect(all[0]).toEqual({ type: "run-start", name: "letters", resumedAtStep: 1 });
    const reader = await runs.open("team/first");
    expect((await reader.series(metric.reward)).map(({ step }) => step)).toEqual([0, 1, 2]);
    expect(await reader.config()).toMatchObject({ steps: 3, sandbox: { name: "bubblewrap", level: "namespace" } });
    await reader.close();
  });

  test("finds its guide again", async () => {
    const picked: number[] = [];
    const guide: typeof inOrder = () => (context) => {
      const inner = inOrder()(context);
      return {
        ...inner,
        async pick(count) {
          const leases = await inner.pick(count);
          picked.push(...leases.map(({ task }) => Number(task.id.split("/").at(-1))));
          return leases;
        },
      };
    };
    for (const steps of [1, 3]) await train({ ...easy, policy: fakePolicy(), steps, run: folder, guide: guide() });
    expect(picked).toEqual(Array.from({ length: 12 }, (_, i) => i));
  });
});

test("checkpoints are the last ones and the best", async () => {
  // better with every version until the third, worse after that
  const policy = fakePolicy((version) => [0.5, 0.6, 0.7, 1, 0.6, 0.5, 0.4, 0.3][version] ?? 0.2);
  const env = letters({ turns: 1, alphabet: "a" });
  const config = { ...easy, env, policy, steps: 7, run: folder, save: { every: 2, retain: 1 } };
  await train({ ...config, eval: { tasks: 30, every: 1 }, algorithm: grpo({ groupSize: 16, uniformGroups: "keep" }) });
  const versionThree = "step-000002";
  expect(readdirSync(join(folder, "checkpoints")).sort()).toEqual([versionThree, "step-000006"]);
});

test("a second run with the same policy measures divergence from where it began", async () => {
  const policy = fakePolicy();
  const copied: [string, number][] = [];
  const snapshot = policy.engine.snapshot.bind(policy.engine);
  policy.engine.snapshot = (name, options) => {
    copied.push([name, policy.engine.info.policyVersion]);
    return snapshot(name, options);
  };
  const algorithm = grpo({ groupSize: 4, kl: 0.1, uniformGroups: "keep" });
  for (let i = 0; i < 2; i++) await train({ ...easy, policy, algorithm, steps: 2 });
  expect(copied).toEqual([
    ["reference", 0],
    ["reference", 2],
  ]);
});

describe("roles with weights of their own", () => {
  const env = letters({ turns: 2, roles: ["one", "two"] });
  const algorithm = grpo({ groupSize: 8, uniformGroups: "keep" });
  const policy = () => ({ ...fakePolicy(), weights: { two: "other" } });

  test("learn each from what it said", async () => {
    const both = policy();
    const { metrics } = await train({ ...easy, env, algorithm, policy: both, steps: 1 });
    expect(both.engine.info.weights).toEqual(["policy", "other"]);
    expect(metrics["update/loss/other"]).toBeDefined();
    expect(both.engine.backwards).toHaveLength(2);
    // the first speaks after one letter, the second after its own
    const starts = both.engine.backwards.map(({ batch }) => batch.rows.length);
    expect(starts).toEqual([32, 32]);
  });

  test("are saved, and go on from there", async () => {
    const made: MakePolicy = async (world, seed) => ({
      ...(await tinyPolicy()(world, seed)),
      weights: { two: "other" },
    });
    const warmStart = imitate({ demonstrations: 8, noise: 0.5, steps: 2, batchSize: 4, learningRate: 1e-2 });
    const config = { ...easy, env, algorithm: grpo({ groupSize: 4, uniformGroups: "keep" }), policy: made, warmStart };
    const weights = async (run: string, ...steps: readonly number[]) => {
      for (const count of steps) await (await train({ ...config, steps: count, run })).policy.engine.close();
      const last = join(run, "checkpoints", "step-000003");
      return ["model.safetensors", "training/weights.other.safetensors"].map((name) =>
        readFileSync(join(last, name), "base64"),
      );
    };
    const [policyBytes, otherBytes] = await weights(join(folder, "whole"), 2);
    expect(policyBytes).not.toBe(otherBytes);
    expect(await weights(join(folder, "parts"), 0, 1, 2)).toEqual([policyBytes, otherBytes]);
  });

  test("do not learn where they are not learners", async () => {
    const one = policy();
    await train({ ...easy, env, algorithm, policy: one, steps: 1, learners: ["policy"] });
    expect(one.engine.backwards).toHaveLength(1);
    await expect(train({ ...easy, env, algorithm, policy: policy(), steps: 1, learners: ["x"] })).rejects.toThrow(
      /learner "x".*policy, other/s,
    );
  });
});

test("a run that fails says so, and closes the policy it made", async () => {
  const { all, monitor } = events();
  let isClosed = false;
  const policy = fakePolicy();
  policy.engine.backward = () => Promise.reject(new Error("out of memory"));
  policy.engine.close = async () => {
    isClosed = true;
  };
  await expect(train({ ...easy, policy: async () => policy, steps: 1, monitors: [monitor] })).rejects.toThrow(
    "out of memory",
  );
  expect(all.at(-1)).toEqual({ type: "run-end", reason: "failed", message: "out of memory" });
  expect(isClosed).toBe(true);
});

test("a run that fails is stored as failed, and can be resumed when the cause is gone", async () => {
  const failing = fakePolicy();
  let updates = 0;
  const backward = failing.engine.backward.bind(failing.engine);
  failing.engine.backward = async (...args) => {
    if (++updates === 3) throw new Error("out of memory");
    return backward(...args);
  };
  const config = { ...easy, run: folder, steps: 6, save: { every: 1 } };
  await expect(train({ ...config, policy: failing })).rejects.toThrow("out of memory");
  const ends = async () => {
    const reader = await openRun(folder, { readOnly: true });
    const events = await reader.events({ types: ["run-end"] });
    await reader.close();
    return events.map(({ event }) => event);
  };
  expect(await ends()).toEqual([{ type: "run-end", reason: "failed", message: "out of memory" }]);
  expect(await train({ ...config, policy: fakePolicy() })).toMatchObject({ reason: "finished", steps: 6 });
  expect(await ends()).toEqual([{ type: "run-end", reason: "finished" }]);
});
