import { describe, expect, test } from "vitest";
import { truncatedRatio } from "../../loss/corrections.ts";
import { adaptiveKl } from "../../loss/kl-controller.ts";
import type { Monitor } from "../../monitor/monitor.ts";
import { metric } from "../../schema/metric-names.ts";
import type { Algorithm } from "../algorithm.ts";
import { fakePolicy } from "../fixtures/fake-policy.ts";
import { letters } from "../fixtures/letters.ts";
import { train } from "../train-sync.ts";
import { cispo, dapo, deepswe, drGrpo, gigpo, grpo, gspo, mGrpo, rloo, vspo } from "./grpo.ts";
import { areal, impala, retracePpo, truncatedImportance } from "./off-policy.ts";
import { rejectionTuning } from "./offline.ts";
import { ppo, vapo } from "./ppo.ts";
import { reinforcePlusPlus, remax } from "./reinforce.ts";
import { starpo, starpoS } from "./starpo.ts";

const kl = () => adaptiveKl({ initial: 0.1, target: 0.01, horizon: 100 });
const algorithms: readonly Algorithm[] = [
  grpo(),
  grpo({ kl: 0.01, uniformGroups: "keep", entropy: 0.01, corrections: [truncatedRatio()] }),
  mGrpo(),
  drGrpo(),
  dapo(),
  gspo({ miniBatches: 2 }),
  cispo({ epochs: 3 }),
  rloo(),
  deepswe(),
  vspo(),
  gigpo(),
  ppo(),
  ppo({ level: "step", kl: kl() }),
  ppo({ level: { turnGamma: 0.9 }, critic: { kind: "separate" } }),
  vapo({ pretrainSteps: 1 }),
  starpo(),
  starpo({ advantages: "group" }),
  starpoS({ share: 0.5 }),
  reinforcePlusPlus(),
  reinforcePlusPlus({ baseline: true, kl: 0.1, groupSize: 4 }),
  remax(),
  rejectionTuning(),
  areal(),
  areal({ decoupled: false, miniBatches: 2 }),
  truncatedImportance(),
  impala(),
  retracePpo({ miniBatches: 2 }),
];

describe.each(algorithms.map((algorithm) => [algorithm.name, algorithm] as const))("%s", (_, algorithm) => {
  test("makes two steps from end to end", async () => {
    const policy = fakePolicy(0.5, { value: (tokens) => tokens.length / 10 });
    const steps: Record<string, number>[] = [];
    const monitor = {
      name: "test",
      record: (event: { type: string; metrics?: Readonly<Record<string, number>> }) => {
        if (event.type === "step-end") steps.push({ ...event.metrics });
      },
    };
    const result = await train({
      env: letters(),
      policy,
      algorithm,
      steps: 2,
      tasksPerStep: 6,
      eval: { tasks: 4 },
      monitors: [monitor],
    });
    expect(result).toMatchObject({ reason: "finished", steps: 2 });
    expect(policy.engine.info.policyVersion).toBeGreaterThan(0);
    for (const metrics of steps) {
      expect(Object.entries(metrics).filter(([, value]) => !Number.isFinite(value))).toEqual([]);
      expect(metrics["rollout/sampled-tokens"]).toBeGreaterThan(0);
      expect(metrics["update/unsampled-share"]).toBe(0);
    }
  });
});

describe("what is particular", () => {
  const metricsOf = async (algorithm: Algorithm, probability = 0.5, turns = 1) => {
    const policy = fakePolicy(probability, { value: () => 0 });
    const { metrics } = await train({
      env: letters({ turns }),
      policy,
      algorithm,
      steps: 1,
      tasksPerStep: 8,
      eval: { tasks: 0 },
    });
    return { metrics, engine: policy.engine };
  };

  test("dapo rolls out more where groups are all alike, up to its bound", async () => {
    const all = async (maxRefills: number) => {
      const { engine } = await metricsOf(dapo({ groupSize: 2, maxRefills }), 1);
      return engine.samples.length;
    };
    // always "a": every group is all alike, so nothing is ever enough
    expect(await all(0)).toBe(8 * 2);
    expect(await all(3)).toBe(4 * 8 * 2);
    const dropped = await metricsOf(dapo({ groupSize: 2, maxRefills: 3 }), 1);
    expect(dropped.metrics).toMatchObject({ "rollout/rollouts": 4 * 8 * 2, "rollout/sampled-tokens": 2 * 4 * 8 * 2 });
    const { metrics } = await metricsOf(dapo({ groupSize: 4, maxRefills: 20 }), 0.5);
    expect(metrics["filter/missing-groups"]).toBe(0);
  });

  test("vspo fills the batch with copies", async () => {
    const { engine, metrics } = await metricsOf(vspo({ groupSize: 2 }), 0.5);
    expect(metrics["filter/kept-groups"]).toBeLessThan(1);
    expect(engine.backwards[0].batch.rows).toHaveLength(16);
  });

  test("starpo-s keeps a share of the groups", async () => {
    const { engine } = await metricsOf(starpoS({ groupSize: 4, share: 0.25, miniBatches: 1 }), 0.5);
    expect(engine.backwards[0].batch.rows).toHaveLength(2 * 4);
  });

  test("vapo's policy waits for its critic", async () => {
    const { engine } = await metricsOf(vapo({ pretrainSteps: 1 }));
    expect(engine.info.policyVersion).toBe(0);
    expect(engine.info.weights).toContain("critic");
    expect(engine.backwards.every(({ derivatives }) => derivatives.logprobs_B_T === undefined)).toBe(true);
  });

  test("remax makes one greedy attempt for each group, and leaves out groups whose attempt ended in an infrastructure failure", async () => {
    let isBroken = false;
    const policy = fakePolicy(0.5, {
      beforeSample(request) {
        if (isBroken && request.temperature === 0) throw new Error("the engine has gone away");
      },
    });
    const config = {
      env: letters({ turns: 1 }),
      policy,
      algorithm: remax(),
      steps: 1,
      tasksPerStep: 8,
      eval: { tasks: 0 },
    };
    await train(config);
    expect(policy.engine.samples.filter(({ temperature }) => temperature === 0)).toHaveLength(8);
    const counted = await train(config);
    expect(counted.metrics).toMatchObject({ "rollout/rollouts": 16, "rollout/sampled-tokens": 32 });
    isBroken = true;
    const { metrics } = await train(config);
    expect(metrics["update/skipped"]).toBe(1);
  });

  test("rejection tuning imitates successes alone", async () => {
    const { engine } = await metricsOf(rejectionTuning({ groupSize: 2 }), 0.5);
    const [backward] = engine.backwards;
    const tokens = backward.batch.rows.reduce((sum, row) => sum + (row.mask as Uint8Array).reduce((a, b) => a + b), 0);
    for (const [b, derivatives_T] of backward.derivatives.logprobs_B_T!.entries()) {
      const row = backward.batch.rows[b];
      // what was read is repeated in what was said
      expect(row.tokens[0]).toBe(row.tokens[2]);
      expect(derivatives_T[2]).toBeCloseTo(-1 / tokens, 6);
    }
  });

  test("an adaptive penalty moves within a run, and the next run with it begins anew", async () => {
    const algorithm = ppo({ kl: kl() });
    const seen: number[] = [];
    const monitor: Monitor = {
      name: "test",
      record(event) {
        if (event.type === "step-end") seen.push(event.metrics[metric.klCoefficient]);
      },
    };
    const config = () => ({
      env: letters(),
      policy: fakePolicy(0.5, { value: () => 0 }),
      algorithm,
      steps: 2,
      tasksPerStep: 4,
      eval: { tasks: 0 },
      monitors: [monitor],
    });
    await train(config());
    await train(config());
    expect(seen[1]).not.toBe(seen[0]);
    expect(seen.slice(2)).toEqual(seen.slice(0, 2));
  });
});

test("an option that a preset does not use is refused by the compiler", () => {
  const refused = [
    // @ts-expect-error GRPO has one clip range
    () => grpo({ clipHigh: 0.3 }),
    // @ts-expect-error DAPO has no reference to diverge from
    () => dapo({ kl: 0.1 }),
    // @ts-expect-error only PPO's kin have a critic
    () => rloo({ critic: { kind: "separate" } }),
    // @ts-expect-error StarPO-S is StarPO without it
    () => starpoS({ kl: 0.001 }),
    // @ts-expect-error and always with a critic
    () => starpoS({ advantages: "group" }),
    // @ts-expect-error λ follows from the length
    () => vapo({ lambda: 0.95 }),
    // @ts-expect-error nothing is clipped where nothing is a ratio
    () => rejectionTuning({ clip: 0.2 }),
    // @ts-expect-error a fixed length, not a mode
    () => drGrpo({ length: "mean" }),
    // @ts-expect-error ReMax compares with a greedy attempt, not with a deviation
    () => remax({ deviation: {} }),
  ];
  expect(refused).toHaveLength(9);
});

test.each<[string, () => unknown, string]>([
  ["a level that is none", () => ppo({ level: "turn" } as never), '"token" or "step"'],
  ["advantages that are none", () => starpo({ advantages: "groups" } as never), 'Did you mean "group"'],
  ["a learning rate in quotes", () => grpo({ learningRate: "1e-3" } as never), 'learningRate of grpo: "1e-3"'],
  ["a negative temperature", () => grpo({ temperature: -1 }), "temperature of grpo: -1"],
  ["a topP above 1", () => grpo({ topP: 2 }), "topP 2 of grpo"],
])("%s is refused when the preset is made", (_, make, expected) => {
  expect(make).toThrow(expected);
});
