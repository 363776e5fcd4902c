import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { learnability } from "../guide/learnability.ts";
import { metric } from "../schema/metric-names.ts";
import type { RunEvent } from "../schema/run-event.ts";
import { openRun } from "../store/index.ts";
import type { AsyncOptions } from "./async/async-options.ts";
import { bufferedSplit } from "./async/buffered-groups.ts";
import { fakePolicy } from "./fixtures/fake-policy.ts";
import { remains } from "./fixtures/kill-and-resume.ts";
import { letters } from "./fixtures/letters.ts";
import { tinyPolicy } from "./fixtures/tiny-policy.ts";
import { dapo, grpo } from "./presets/grpo.ts";
import type { TrainConfig } from "./train.ts";
import { train } from "./train-sync.ts";
import { imitate } from "./warm-start.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ludus-async-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const easy = { env: letters({ turns: 1 }), algorithm: grpo({ groupSize: 4 }), tasksPerStep: 4, eval: { tasks: 0 } };

async function left(run: string): Promise<Record<string, unknown>> {
  const { metrics, trajectories, checkpoints } = await remains(run);
  return { metrics, trajectories, checkpoints };
}

describe("without staleness the run has the bits of the synchronous one", () => {
  const warmStart = imitate({ demonstrations: 20, noise: 0.5, steps: 3, batchSize: 8, learningRate: 1e-2 });
  const configs: Record<string, Partial<TrainConfig>> = {
    grpo: { algorithm: grpo({ groupSize: 4, learningRate: 3e-3, epochs: 2, miniBatches: 2, kl: 0.01 }) },
    "dapo, which refills": { algorithm: dapo({ groupSize: 2, learningRate: 3e-3 }) },
    "tasks chosen by how learnable they are": { guide: learnability(), algorithm: grpo({ groupSize: 4 }) },
  };
  test.each(Object.keys(configs))("%s", async (name) => {
    const made = async (run: string, more: { async?: AsyncOptions }) => {
      const env = letters({ alphabet: "ab", choices: "abcd" });
      const common = { env, policy: tinyPolicy(), warmStart, steps: 4, tasksPerStep: 3, save: { every: 2 } };
      const evaluation = { eval: { tasks: 4, every: 2 } };
      const { policy } = await train({
        ...easy,
        ...common,
        ...evaluation,
        ...configs[name],
        run,
        ...more,
      } as TrainConfig);
      await policy.engine.close();
    };
    await made(join(folder, "sync"), {});
    await made(join(folder, "async"), { async: { staleness: 0 } });
    const [sync, ahead] = [await left(join(folder, "sync")), await left(join(folder, "async"))];
    for (const part of Object.keys(sync)) expect(ahead[part], part).toEqual(sync[part]);
  });
});

function told() {
  const events: RunEvent[] = [];
  const steps = () => events.flatMap((event) => (event.type === "step-end" ? [event.metrics] : []));
  return { steps, monitor: { name: "test", record: (event: RunEvent) => void events.push(event) } };
}

async function usedRollouts(run: string, split: string): Promise<string[]> {
  const reader = await openRun(run, { readOnly: true });
  const { trajectories } = await reader.trajectories({ split }, { order: "oldest", limit: 10_000 });
  await reader.close();
  return trajectories.map(({ rollout }) => rollout);
}

test("rollouts run ahead by the staleness and no further, and every group is used once", async () => {
  const { steps, monitor } = told();
  const begun: number[] = [];
  const policy = fakePolicy(0.5, { beforeSample: () => void begun.push(policy.engine.info.policyVersion) });
  await train({ ...easy, policy, steps: 6, run: join(folder, "run"), async: { staleness: 2 }, monitors: [monitor] });
  const used = await usedRollouts(join(folder, "run"), "train");
  expect(used).toHaveLength(6 * 4 * 4);
  expect(new Set(used).size).toBe(used.length);
  expect(await usedRollouts(join(folder, "run"), bufferedSplit)).toEqual([]);
  // three steps' worth before the first update
  expect(begun.filter((version) => version === 0).length).toBeGreaterThanOrEqual(3 * 4 * 4);
  expect(Math.max(...steps().map((each) => each[metric.stalenessMax]))).toBe(2);
  for (const each of steps()) {
    expect(each[metric.trainerWaits]).toBeGreaterThanOrEqual(0);
    expect(each[metric.samplerWaits]).toBeLessThanOrEqual(1);
    const shares = Object.entries(each).filter(([name]) => name.startsWith("async/staleness/"));
    expect(shares.reduce((sum, [, share]) => sum + share, 0)).toBeCloseTo(1);
  }
});

test("a group that is slow to finish does not hold up the trainer", async () => {
  const slow = Promise.withResolvers<void>();
  const { steps, monitor } = told();
  const policy = fakePolicy(0.5, {
    beforeSample: async ({ rollout }) => {
      if (rollout?.startsWith("step-0/1/")) await slow.promise;
    },
  });
  const release = {
    name: "release",
    record: (event: RunEvent) => (event.type === "step-end" && event.step === 1 ? slow.resolve() : undefined),
  };
  const config = { ...easy, policy, steps: 4, run: join(folder, "run"), async: { staleness: 2 } };
  await train({ ...config, monitors: [monitor, release] });
  const used = await usedRollouts(join(folder, "run"), "train");
  expect(new Set(used).size).toBe(used.length);
  const first = used.slice(0, 16).map((rollout) => rollout.replace(/\/\d+$/, ""));
  expect([...new Set(first)]).toEqual(["step-0/0", "step-0/2", "step-0/3", "step-1/0"]);
  expect(Math.max(...steps().map((each) => each[metric.stalenessMax]))).toBeGreaterThan(1);
});

test("groups that are too old are dropped, counted, and replaced", async () => {
  const slow = Promise.withResolvers<void>();
  const policy = fakePolicy(0.5, {
    beforeSample: async ({ rollout }) => {
      if (rollout?.startsWith("step-0/1/0")) await slow.promise;
    },
  });
  const { steps, monitor } = told();
  const release = {
    name: "release",
    record: (event: RunEvent) => (event.type === "step-end" && event.step === 2 ? slow.resolve() : undefined),
  };
  const options = { staleness: 3, maxAge: 1 };
  await train({ ...easy, policy, steps: 5, run: join(folder, "run"), async: options, monitors: [monitor, release] });
  expect(Math.max(...steps().map((each) => each[metric.stalenessMax]))).toBeLessThanOrEqual(1);
  expect(steps().reduce((sum, each) => sum + each[metric.droppedTokens], 0)).toBeGreaterThan(0);
  const used = await usedRollouts(join(folder, "run"), "train");
  expect(used).toHaveLength(5 * 4 * 4);
  expect(new Set(used).size).toBe(used.length);
});

describe("an update while sequences are being sampled", () => {
  const mixed = async (interrupt: AsyncOptions["interrupt"]) => {
    const env = letters({ turns: 2, choices: "abcd" });
    const warmStart = imitate({ demonstrations: 40, noise: 0.7, steps: 30, batchSize: 8, learningRate: 1e-2 });
    const async = { staleness: 2, ...(interrupt === undefined ? {} : { interrupt }) };
    const algorithm = grpo({ groupSize: 8, learningRate: 1e-3, miniBatches: 4 });
    const common = { env, policy: tinyPolicy(), algorithm, warmStart, tasksPerStep: 8, steps: 8, eval: { tasks: 0 } };
    const { policy } = await train({
      ...common,
      run: join(folder, "run"),
      async,
      rollout: { limits: { turnTokens: 24 } },
    });
    await policy.engine.close();
    const reader = await openRun(join(folder, "run"), { readOnly: true });
    const { trajectories } = await reader.trajectories({ split: "train" }, { limit: 10_000 });
    const all = await Promise.all(trajectories.map(async ({ key }) => (await reader.trajectory(key)).trajectory));
    await reader.close();
    return all.flatMap(({ turns, versions_T, mask_T }) =>
      turns.map(({ span }) => {
        const sampled = Array.from({ length: span.end - span.start }, (_, i) => span.start + i).filter(
          (t) => mask_T[t] === 1,
        );
        return sampled.map((t) => versions_T[t]);
      }),
    );
  };

  test.each(["recompute", "keep"] as const)(
    "leaves versions by token, never an older one after a newer (%s)",
    async (mode) => {
      const turns = await mixed(mode);
      expect(new Set(turns.flat()).size).toBeGreaterThan(2);
      for (const versions of turns) expect(versions).toEqual([...versions].sort((a, b) => a - b));
    },
  );

  test("waits for them where it is told to", async () => {
    for (const versions of await mixed("wait")) expect(new Set(versions).size).toBeLessThanOrEqual(1);
  });
});

test("a rollout survives updates: its later turns come from newer weights", async () => {
  const updated = Promise.withResolvers<void>();
  const policy = fakePolicy(0.5, {
    beforeSample: async ({ rollout, tokens }) => {
      if (rollout?.startsWith("step-0/1/") && tokens.length > 4) await updated.promise;
    },
  });
  const release = {
    name: "release",
    record: (event: RunEvent) => (event.type === "step-end" ? updated.resolve() : undefined),
  };
  const run = join(folder, "run");
  await train({
    ...easy,
    env: letters({ turns: 2 }),
    policy,
    steps: 4,
    run,
    async: { staleness: 1 },
    monitors: [release],
  });
  const reader = await openRun(run, { readOnly: true });
  const page = await reader.trajectories({ split: "train", rollout: "step-0/1/0" });
  const { trajectory, summary } = await reader.trajectory(page.trajectories[0].key);
  await reader.close();
  const versions = trajectory.turns.map(({ span }) => trajectory.versions_T[span.start]);
  expect(versions[0]).toBe(0);
  expect(versions[1]).toBeGreaterThan(0);
  expect(summary.step).toBeGreaterThan(0);
});

test("an engine that cannot keep caches is refused by name", async () => {
  const config = { ...easy, policy: fakePolicy(), steps: 1, async: { staleness: 1, interrupt: "keep" } } as const;
  await expect(train(config)).rejects.toThrow(/keep.*fake engine/s);
});

test.each([
  [{ stalenes: 1 }, /did you mean "staleness"/],
  [{ staleness: -1 }, /async.staleness = -1/],
  [{ staleness: 1, buffer: 3 }, /at least 4/],
  [{ staleness: 1, interrupt: "kep" }, /keep/],
  [{}, /async.staleness = undefined/],
])("%o is refused before the first rollout", async (async, message) => {
  const policy = fakePolicy();
  await expect(train({ ...easy, policy, steps: 1, async: async as unknown as AsyncOptions })).rejects.toThrow(message);
  expect(policy.engine.samples).toEqual([]);
});

test("an engine that always fails ends the run with what it says", async () => {
  const policy = fakePolicy(0.5, { beforeSample: () => Promise.reject(new Error("the sampler is down")) });
  await expect(train({ ...easy, policy, steps: 2, async: { staleness: 1 } })).rejects.toThrow(/sampler is down/);
});

test("a guide that throws ends the run with its error", async () => {
  let picks = 0;
  const guide: TrainConfig["guide"] = (context) => {
    const inner = learnability()(context);
    return {
      ...inner,
      name: "broken",
      pick: (n) => (++picks > 2 ? Promise.reject(new Error("no more tasks")) : inner.pick(n)),
      observe: (r) => inner.observe(r),
      state: () => inner.state(),
      restore: (s) => inner.restore(s),
      metrics: () => inner.metrics(),
    };
  };
  await expect(train({ ...easy, guide, policy: fakePolicy(), steps: 9, async: { staleness: 1 } })).rejects.toThrow(
    "no more tasks",
  );
});

test("a run that is stopped resumes with the groups that had finished", async () => {
  const run = join(folder, "run");
  const stop = new AbortController();
  const { monitor } = told();
  const stopper = {
    name: "stop",
    record: (event: RunEvent) => (event.type === "step-end" && event.step === 2 ? stop.abort() : undefined),
  };
  const common = { ...easy, run, async: { staleness: 3 }, steps: 8 };
  const stopped = await train({ ...common, policy: fakePolicy(), signal: stop.signal, monitors: [monitor, stopper] });
  expect(stopped.reason).toBe("stopped");
  const reader = await openRun(run, { readOnly: true });
  const waiting = (await reader.trajectories({ split: bufferedSplit }, { limit: 1000 })).trajectories.map(
    ({ rollout }) => rollout,
  );
  await reader.close();
  expect(waiting.length).toBeGreaterThan(0);
  const again: string[] = [];
  const policy = fakePolicy(0.5, { beforeSample: ({ rollout }) => void again.push(rollout!) });
  const done = await train({ ...common, policy });
  expect(done.reason).toBe("finished");
  for (const rollout of waiting) expect(again).not.toContain(rollout);
  const after = await openRun(run, { readOnly: true });
  const used = (await after.trajectories({ split: "train" }, { limit: 1000 })).trajectories.map(
    ({ rollout }) => rollout,
  );
  await after.close();
  for (const rollout of waiting) expect(used).toContain(rollout);
  expect(new Set(used).size).toBe(8 * 16);
});

test.each([
  ["synchronous", {}],
  ["asynchronous", { async: { staleness: 1 } }],
])("%s: an attempt is scored while others of its step are still being sampled", async (_, more) => {
  const scoring = Promise.withResolvers<void>();
  const plain = letters({ turns: 2 });
  const env: typeof plain = {
    ...plain,
    async attempt(task, policy, options) {
      const played = await plain.attempt(task, policy, options);
      if (options.id !== "step-0/0/0") return played;
      return {
        ...played,
        score() {
          scoring.resolve();
          return played.score();
        },
      };
    },
  };
  // the other attempts do not get on before the first is being scored
  const policy = fakePolicy(0.5, {
    beforeSample: async ({ rollout }) => {
      if (rollout?.startsWith("step-0/0/0") !== true) await scoring.promise;
    },
  });
  const { reason } = await train({ ...easy, env, policy, steps: 1, ...more });
  expect(reason).toBe("finished");
});
