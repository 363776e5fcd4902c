import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { evaluate } from "../eval/evaluate.ts";
import { collect } from "../schema/collect.ts";
import type { RunEvent } from "../schema/run-event.ts";
import { heldOutSplit, memoryRuns, type RunReader, storedFailures, type TrajectorySummary } from "../store/index.ts";
import { fakePolicy } from "./fixtures/fake-policy.ts";
import { letters } from "./fixtures/letters.ts";
import { dapo, grpo } from "./presets/grpo.ts";
import { storedGroups, storedTrajectories } from "./stored-groups.ts";
import type { TrainConfig } from "./train.ts";
import { train } from "./train-sync.ts";
import { imitate } from "./warm-start.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ludus-failures-"));
});
afterEach(() => rmSync(folder, { recursive: true }));
const newRuns = () => memoryRuns({ checkpoints: folder });

const sound = letters({ turns: 1 });
let requests = 0;
/** As an environment whose database is gone from some call on. */
function crashing(isDown: () => boolean): typeof sound {
  return {
    ...sound,
    start(context) {
      if (isDown()) throw new Error(`database is down (request ${++requests})`);
      return sound.start(context);
    },
  };
}
const down = crashing(() => true);

const base = { algorithm: grpo({ groupSize: 4, uniformGroups: "keep" }), tasksPerStep: 4, steps: 3, run: "r" } as const;

function watched(config: Omit<TrainConfig<{ word: string }>, "policy" | "algorithm"> & Partial<TrainConfig>) {
  const runs = newRuns();
  const events: RunEvent[] = [];
  const monitor = { name: "test", record: (event: RunEvent) => void events.push(event) };
  const whole = { ...base, policy: fakePolicy(), store: runs, monitors: [monitor], ...config } as TrainConfig;
  return { runs, events, training: train(whole), whole };
}

async function reading<Value>(runs: ReturnType<typeof newRuns>, read: (reader: RunReader) => Promise<Value>) {
  const reader = await runs.open("r");
  return read(reader).finally(() => reader.close());
}

describe("a run that loses a whole step", () => {
  test("stops with the text, is stored as failed, and has the failures with counts and an example", async () => {
    const { runs, events, training } = watched({ ...base, env: down, eval: { tasks: 0 } });
    // four groups of four, each attempt made twice
    await expect(training).rejects.toThrow(
      /^everything-crashed: got step 0, in which all 32 attempts failed: 32 × env-crash: Error: database is down/,
    );
    expect(await runs.info("r")).toMatchObject({ ended: "failed" });
    const [failure, ...others] = await reading(runs, storedFailures);
    expect(others).toEqual([]);
    expect(failure).toMatchObject({ during: "training", stop: "env-crash", count: 32, rollout: "step-0/0/0" });
    expect(failure.message).toMatch(/^Error: database is down/);
    expect(failure.at).toMatch(/failures\.test\.ts/);
    expect(events.at(-1)).toMatchObject({ type: "run-end", reason: "failed" });
    expect(events.at(-1)).toHaveProperty("message", expect.stringContaining("database is down"));
  });

  test("keeps the steps before it, and goes on from there once the cause is gone", async () => {
    let isDown = false;
    const env = crashing(() => isDown);
    const runs = newRuns();
    const failing = {
      name: "test",
      record: (event: RunEvent) => {
        if (event.type === "step-end" && event.step === 1) isDown = true;
      },
    };
    const config = { ...base, env, store: runs, eval: { tasks: 0 }, save: { every: 100 } };
    await expect(train({ ...config, policy: fakePolicy(), monitors: [failing] })).rejects.toThrow("got step 2");
    isDown = false;
    const { steps, reason } = await train({ ...config, policy: fakePolicy() });
    expect({ steps, reason }).toEqual({ steps: 3, reason: "finished" });
    expect(await reading(runs, storedFailures)).toEqual([]);
  });

  test("stops at once where a filter would ask for more groups for ever", async () => {
    const { training } = watched({ ...base, env: down, algorithm: dapo({ groupSize: 4 }), eval: { tasks: 0 } });
    await expect(training).rejects.toThrow("everything-crashed: got step 0");
  });

  test("is told of an engine that fails", async () => {
    const policy = fakePolicy();
    policy.engine.sample = () => Promise.reject(new Error("out of memory"));
    const { training } = watched({ ...base, env: sound, policy, eval: { tasks: 0 } });
    await expect(training).rejects.toThrow(/32 × engine-error: Error: out of memory/);
  });
});

test("a step that lost some attempts goes on, and what was made good by another try is counted too", async () => {
  let calls = 0;
  const { runs, training } = watched({ ...base, env: crashing(() => calls++ % 4 === 0), eval: { tasks: 0 } });
  expect((await training).reason).toBe("finished");
  const [failure, ...others] = await reading(runs, storedFailures);
  expect(others).toEqual([]);
  expect(failure.steps.map(({ step }) => step)).toEqual([0, 1, 2]);
  expect(failure.count).toBeGreaterThan(10);
  expect(failure.steps.every(({ count, attempts }) => count < attempts && attempts > 16)).toBe(true);
});

test("a warm start that loses all demonstrations stops with the text", async () => {
  const warmStart = imitate({ demonstrations: 12, steps: 2 });
  const { runs, training } = watched({ ...base, env: down, warmStart, eval: { tasks: 0 } });
  await expect(training).rejects.toThrow(/everything-crashed: got 12 demonstrations.*12 × env-crash: Error: database/s);
  expect(await reading(runs, storedFailures)).toMatchObject([{ during: "demonstration", count: 12, firstStep: 0 }]);
  expect(await runs.info("r")).toMatchObject({ ended: "failed" });
});

describe("an evaluation of which every attempt fails", () => {
  test("is an error with the text, not a success of 0", async () => {
    await expect(evaluate(down, fakePolicy(), { tasks: 3 })).rejects.toThrow(
      /everything-crashed: got an evaluation on "test" of which all 3 attempts failed, also when made again: 6 × env-crash: Error: database is/,
    );
  });

  test("ends a training run, with its failures stored", async () => {
    const { runs, training } = watched({ ...base, env: down, eval: { tasks: 3 } });
    await expect(training).rejects.toThrow(/an evaluation on "test"/);
    expect(await reading(runs, storedFailures)).toMatchObject([
      { during: "evaluation", count: 6, rollout: "before/eval-test/0/0" },
    ]);
  });

  test("because it was stopped is no error", async () => {
    const controller = new AbortController();
    const env = crashing(() => {
      controller.abort();
      return true;
    });
    const report = await evaluate(env, fakePolicy(), { tasks: 3, signal: controller.signal });
    expect(report.success.mean).toBe(0);
  });

  test("in part is a report that says what failed", async () => {
    let calls = 0;
    const { failures, infrastructureFailures } = await evaluate(
      crashing(() => calls++ < 2),
      fakePolicy(),
      { tasks: 4, concurrency: 1 },
    );
    expect(infrastructureFailures).toBe(1);
    expect(failures).toMatchObject([{ during: "evaluation", count: 2, stop: "env-crash" }]);
  });
});

describe("held-out episodes", () => {
  const env = sound;
  const heldOut = (reader: RunReader) => pages(reader, heldOutSplit);
  async function pages(reader: RunReader, split: string): Promise<readonly TrajectorySummary[]> {
    return (await reader.trajectories({ split }, { order: "oldest", limit: 10_000 })).trajectories;
  }

  test("of every evaluation are stored, failed ones first, and named by their step", async () => {
    const { runs, training } = watched({ ...base, env, eval: { tasks: 20, every: 1 }, steps: 2 });
    const { after } = await training;
    const stored = await reading(runs, heldOut);
    // before at step 0, then the evaluations of steps 0 and 1
    expect(stored).toHaveLength(60);
    expect(new Set(stored.map(({ rollout }) => rollout)).size).toBe(60);
    const last = stored.filter(({ rollout }) => rollout.startsWith("step-1/"));
    expect(last.map(({ success }) => success)).toEqual(last.map(({ success }) => success).toSorted());
    expect(last.filter(({ success }) => success)).toHaveLength(Math.round(20 * after!.success.mean));
    expect(last.every(({ step }) => step === 1)).toBe(true);
  });

  test("are never mistaken for those of training", async () => {
    const { runs, training } = watched({ ...base, env, eval: { tasks: 20, every: 1 }, steps: 2 });
    await training;
    await reading(runs, async (reader) => {
      expect(await pages(reader, "train")).toHaveLength(2 * 16);
      const groups = await collect(storedGroups(reader));
      expect(groups).toHaveLength(8);
      expect(await collect(storedTrajectories(reader))).toHaveLength(32);
      expect(await collect(storedTrajectories(reader, { split: heldOutSplit }))).toHaveLength(60);
    });
  });

  test("of earlier evaluations are cut down to the failed ones, but for the best", async () => {
    // says a more and more seldom: the first evaluation after a step is the best
    const policy = fakePolicy((version) => Math.max(0.05, 0.6 - 0.2 * version));
    const evaluation = { tasks: 20, every: 1, retainEpisodes: 5 };
    const { runs, training } = watched({
      ...base,
      env: letters({ turns: 1, alphabet: "a" }),
      policy,
      steps: 4,
      eval: evaluation,
    } as never);
    await training;
    const bySteps = Map.groupBy(await reading(runs, heldOut), ({ step }) => step);
    const counts = [...bySteps].map(([step, { length }]) => [step, length]);
    expect(counts).toEqual([
      [0, 40],
      [1, 5],
      [2, 5],
      [3, 20],
    ]);
    expect(bySteps.get(1)!.every(({ success }) => !success)).toBe(true);
  });

  test("of an evaluation that a resumed run makes again are stored once", async () => {
    const config = { ...base, env, eval: { tasks: 6 }, steps: 2 };
    const { runs, training } = watched(config);
    await training;
    expect(await reading(runs, heldOut)).toHaveLength(12);
    await train({ ...config, policy: fakePolicy(), store: runs });
    expect(await reading(runs, heldOut)).toHaveLength(12);
  });
});
