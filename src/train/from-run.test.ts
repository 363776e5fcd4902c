import { cpSync, mkdtempSync, readFileSync, rmSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Checkpoints } from "../checkpoint/checkpoints.ts";
import { LudusError } from "../errors.ts";
import { trainBpe } from "../policy/train-bpe.ts";
import type { RunEvent } from "../schema/run-event.ts";
import { sqliteRuns } from "../store/index.ts";
import { letters } from "./fixtures/letters.ts";
import { tinyPolicy } from "./fixtures/tiny-policy.ts";
import { fromRun } from "./from-run.ts";
import { fromScratch } from "./from-scratch.ts";
import { grpo } from "./presets/grpo.ts";
import { ppo } from "./presets/ppo.ts";
import type { TrainConfig } from "./train.ts";
import { train } from "./train-sync.ts";
import { imitate } from "./warm-start.ts";

let folder: string;
const path = (name: string) => join(folder, name);
const base: Omit<TrainConfig, "run"> = {
  env: letters({ turns: 1 }),
  policy: tinyPolicy({ valueHead: true }),
  algorithm: grpo({ groupSize: 2, uniformGroups: "keep" }),
  steps: 4,
  tasksPerStep: 2,
  eval: { tasks: 4 },
};

async function trained(config: Partial<TrainConfig> & { run: string }) {
  const events: RunEvent[] = [];
  const monitors = [{ name: "test", record: (event: RunEvent) => void events.push(event) }];
  const { policy, ...result } = await train({ ...base, ...config, monitors });
  await policy.engine.close();
  return { ...result, events };
}

async function storedConfig(run: string): Promise<unknown> {
  const reader = await sqliteRuns().open(run);
  const config = await reader.config();
  await reader.close();
  return config;
}

const weightsOf = (run: string, step: number) =>
  readFileSync(join(new Checkpoints(run).directory(step), "model.safetensors"));

const setsOf = (run: string, step: number): Record<string, { version: number; steps: number }> => {
  const state = readFileSync(join(new Checkpoints(path(run)).directory(step), "training", "ludus.json"), "utf8");
  return Object.fromEntries(JSON.parse(state).sets.map((set: { name: string }) => [set.name, set]));
};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "ludus-from-run-"));
  const warmStart = imitate({ demonstrations: 8, steps: 2, batchSize: 4, learningRate: 1e-2 });
  await trained({ run: path("first"), warmStart, save: { every: 1, retain: 10 }, seed: 3 });
});
afterAll(() => rmSync(folder, { recursive: true }));

test("a run starts from the weights of another, and says so wherever it is looked at", async () => {
  const { events, steps } = await trained({
    run: path("second"),
    warmStart: fromRun(path("first"), { step: 3 }),
    steps: 0,
    eval: { tasks: 4 },
  });
  expect(steps).toBe(0);
  expect(events[0]).toEqual({ type: "run-start", name: "letters", parent: { run: path("first"), step: 3 } });
  const info = await sqliteRuns().info(path("first"));
  expect(await storedConfig(path("second"))).toMatchObject({
    warmStart: { name: "from-run", steps: 0, optimizer: "fresh" },
    parent: { run: path("first"), uid: info?.uid, step: 3, weights: expect.stringMatching(/^[0-9a-f]{64}$/), seed: 3 },
  });
});

test("with a learning rate of 0 the weights stay those of the step that was named", async () => {
  const algorithm = grpo({ groupSize: 2, uniformGroups: "keep", learningRate: 0 });
  const still = (run: string, step: number | "last") =>
    trained({ run: path(run), algorithm, warmStart: fromRun(path("first"), { step }), steps: 1, seed: 8 });
  await still("still", 2);
  expect(weightsOf(path("still"), 0).equals(weightsOf(path("first"), 2))).toBe(true);
  await still("still-last", "last");
  expect(weightsOf(path("still-last"), 0).equals(weightsOf(path("first"), 5))).toBe(true);
});

test("the optimizer begins anew unless it is kept", async () => {
  const algorithm = grpo({ groupSize: 2, uniformGroups: "keep", learningRate: 0 });
  const stepsOfAdam = async (optimizer: "keep" | "fresh") => {
    const warmStart = fromRun(path("first"), { step: 1, optimizer });
    await trained({ run: path(optimizer), algorithm, warmStart, steps: 1, eval: { tasks: 0 } });
    return setsOf(optimizer, 0).policy.steps;
  };
  expect((await stepsOfAdam("keep")) - (await stepsOfAdam("fresh"))).toBe(setsOf("first", 1).policy.steps);
});

test("a run that is resumed needs its parent no more, and knows it still", async () => {
  cpSync(path("first"), path("parent"), { recursive: true });
  const warmStart = fromRun(path("parent"), { step: "last" });
  await trained({ run: path("child"), warmStart, steps: 1, seed: 5 });
  rmSync(path("parent"), { recursive: true });
  const { events } = await trained({ run: path("child"), warmStart, steps: 2, seed: 5 });
  expect(events[0]).toMatchObject({ parent: { run: path("parent"), step: 5 }, resumedAtStep: 0 });
  await expect(trained({ run: path("child"), warmStart: fromRun(path("first")), steps: 3, seed: 5 })).rejects.toThrow(
    /^other-run: .*warmStart.run/,
  );
});

test("the policy is made with the parent's seed, also of a grandchild", async () => {
  const made: number[] = [];
  const policy: TrainConfig["policy"] = (env, seed) => {
    made.push(seed);
    return fromScratch({ size: "tiny", tokenizer: 270 })(env, seed);
  };
  await trained({ run: path("a"), policy, steps: 1, seed: 11 });
  await trained({ run: path("b"), policy, steps: 1, seed: 12, warmStart: fromRun(path("a")) });
  await trained({ run: path("c"), policy, steps: 1, seed: 13, warmStart: fromRun(path("b")) });
  expect(made).toEqual([11, 11, 11]);
});

test("a critic goes on learning, a reference is taken anew", async () => {
  const algorithm = ppo({ groupSize: 2, critic: { kind: "separate", pretrainSteps: 0 }, kl: 0.1 });
  await trained({ run: path("critic"), algorithm, steps: 2 });
  await trained({
    run: path("critic-2"),
    algorithm,
    steps: 1,
    warmStart: fromRun(path("critic"), { optimizer: "keep" }),
  });
  const [parent, child] = [setsOf("critic", 1), setsOf("critic-2", 0)];
  expect(child.critic.steps).toBeGreaterThan(parent.critic.steps);
  expect(child.reference.version).toBe(parent.policy.version);
  expect(parent.reference.version).toBe(0);
  await trained({ run: path("no-critic"), steps: 1, warmStart: fromRun(path("critic")) });
  expect(Object.keys(setsOf("no-critic", 0))).toEqual(["policy"]);
});

describe("what cannot be started from is refused", () => {
  const starting = (config: Partial<TrainConfig>) =>
    trained({ run: path(`refused-${Math.trunc(performance.now())}`), ...config });

  test("a run that is not there", async () => {
    await expect(starting({ warmStart: fromRun(path("nowhere")) })).rejects.toThrow(/^no-such-run: got ".*nowhere"/);
  });

  test("a step that is not there, with those that are", async () => {
    await expect(starting({ warmStart: fromRun(path("first"), { step: 77 }) })).rejects.toThrow(
      /^no-such-checkpoint: got step 77 of .*first, expected one of 0, 1, 2, 3, 4, 5, best or last/,
    );
  });

  test("the best of a run that was never evaluated", async () => {
    await trained({ run: path("unmeasured"), steps: 1, eval: { tasks: 0 } });
    await expect(starting({ warmStart: fromRun(path("unmeasured"), { step: "best" }) })).rejects.toThrow(
      /never evaluated on held-out tasks, expected 0 or last/,
    );
  });

  test("another model, naming both", async () => {
    const policy = tinyPolicy({ valueHead: true, width: 64 });
    await expect(starting({ policy, warmStart: fromRun(path("first")) })).rejects.toThrow(
      /^other-model: .*differs in width 32.*expected the model this engine was made with, width 64/,
    );
  });

  test("another tokenizer, naming both", async () => {
    const speaking = (text: string) =>
      fromScratch({ size: "tiny", tokenizer: trainBpe({ texts: [text], vocabularySize: 270 }), contextLength: 64 });
    await trained({ run: path("words"), policy: speaking("one one two two"), steps: 1 });
    const policy = speaking("eins eins zwei zwei");
    await expect(starting({ policy, warmStart: fromRun(path("words")) })).rejects.toThrow(
      /^other-tokenizer: got .*words, step 0, whose tokenizer has \d+ tokens.*expected the tokenizer of this run, \d+ tokens.*loadTokenizer/,
    );
  });

  test("a checkpoint that was cut short, with the steps that are left", async () => {
    cpSync(path("first"), path("damaged"), { recursive: true });
    truncateSync(join(new Checkpoints(path("damaged")).directory(3), "model.safetensors"), 100);
    await expect(starting({ warmStart: fromRun(path("damaged"), { step: 3 }) })).rejects.toThrow(
      /^checkpoint-damaged: .*step-000003.*100 bytes instead of.*Start from another step: 0, 1, 2, 4, 5\./s,
    );
  });

  test("options that are misspelt or out of range", () => {
    expect(() => fromRun("x", { stpe: 3 } as never)).toThrow(
      /fromRun\(\): unknown option "stpe"; did you mean "step"\?/,
    );
    expect(() => fromRun("x", { step: 1.5 })).toThrow(LudusError);
    expect(() => fromRun("x", { optimizer: "half" as never })).toThrow(/"fresh" or "keep"/);
  });
});

test("a run that is still being written is started from, with a warning", async () => {
  const writer = await sqliteRuns().openForWriting(path("first"), { now: () => 0 });
  try {
    const { events } = await trained({ run: path("eager"), steps: 0, warmStart: fromRun(path("first")) });
    expect(events).toContainEqual({
      type: "warning",
      message: expect.stringMatching(/first is still being trained; this run starts from its step 5/),
    });
  } finally {
    await writer.close();
  }
});

test("checkpoints are retained: the newest, every so many steps, and the best", async () => {
  await trained({
    run: path("retained"),
    steps: 11,
    save: { every: 2, retain: 2, retainEvery: 3 },
    eval: { tasks: 4, every: 4 },
  });
  const reader = await sqliteRuns().open(path("retained"));
  const best = (await reader.state("best")) as { step: number };
  await reader.close();
  const expected = [...new Set([2, 5, 8, 9, 10, best.step])].sort((a, b) => a - b);
  expect(new Checkpoints(path("retained")).steps()).toEqual(expected);
});
