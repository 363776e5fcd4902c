import { describe, expect, test } from "vitest";
import { codeRlCredit } from "../../credit/code-rl-credit.ts";
import type { CreditRow } from "../../credit/credit.ts";
import { defined } from "../../defined.ts";
import type { Engine } from "../../engine/engine.ts";
import { fakeEngine } from "../../engine/fake-engine.ts";
import { LudusError } from "../../errors.ts";
import { adaptiveKl } from "../../loss/kl-controller.ts";
import { metric } from "../../schema/metric-names.ts";
import { makeTrajectory, relabelled, type Trajectory } from "../../schema/trajectory.ts";
import type { TrajectoryGroup } from "../../schema/trajectory-group.ts";
import type { Algorithm } from "../algorithm.ts";
import { deepswe, grpo } from "../presets/grpo.ts";
import { ppo } from "../presets/ppo.ts";
import { reinforcePlusPlus, remax } from "../presets/reinforce.ts";
import type { ChosenGroup } from "./measure.ts";
import { prepare } from "./prepare.ts";

const ln = Math.log;

/** Two tokens, 0 with probability 0.8 under the reference, 0.5 otherwise. */
async function engineWith(options: { value?: () => number } = {}) {
  let isReference = false;
  const engine = fakeEngine({ vocabularySize: 2, distribution: () => (isReference ? [4, 1] : [1, 1]), ...options });
  const forward = engine.forward.bind(engine);
  engine.forward = (batch, given = {}) => {
    isReference = given.weights?.startsWith("reference") ?? false;
    return forward(batch, given);
  };
  await engine.snapshot("reference");
  return engine;
}

function attempt(id: string, total: number, fields: Partial<Trajectory> = {}): Trajectory {
  return makeTrajectory({
    id,
    rollout: id,
    taskId: "task",
    role: "agent",
    weights: "policy",
    weight: 1,
    stop: "completed" as const,
    tokens_T: Int32Array.of(1, 0, 1),
    mask_T: Uint8Array.of(0, 1, 1),
    temperature: 1,
    logprobs_T: Float32Array.of(0, ln(0.5), ln(0.5)),
    versions_T: Int32Array.of(-1, 0, 0),
    turns: [{ span: { start: 1, end: 3 }, text: "", calls: [], reward: 0, observation: "" }],
    score: { total, parts: {}, success: total >= 1 },
    ...fields,
  });
}

const groupOf = (...trajectories: Trajectory[]): TrajectoryGroup => ({
  task: { id: "task", seed: 0, data: undefined },
  trajectories,
});
const pair = groupOf(attempt("a", 1), attempt("b", 0));
const once = (group: TrajectoryGroup, scale = 1) => [{ group, scale }];

function prepareBatch(engine: Engine, algorithm: Algorithm, groups: readonly ChosenGroup[], learners = ["policy"]) {
  const klCoefficient = algorithm.klInReward?.initial;
  return prepare({ policy: { engine }, algorithm, learners }, { groups, ...defined({ klCoefficient }) });
}

test("relabelled attempts do not change the advantages of the others", async () => {
  const other = groupOf(relabelled(attempt("c", 1), "another task"));
  const algorithm = reinforcePlusPlus();
  const alone = await prepareBatch(await engineWith(), algorithm, once(pair));
  const both = await prepareBatch(await engineWith(), algorithm, [...once(other), ...once(pair)]);
  expect(both.rows.map(({ isRelabelled }) => isRelabelled)).toEqual([true, undefined, undefined]);
  expect(both.rows.slice(1).map(({ advantages_T }) => advantages_T)).toEqual(alone.rows.map((row) => row.advantages_T));
});

test("advantages are credit's, times the scale of the group", async () => {
  const { rows } = await prepareBatch(await engineWith(), grpo({ deviation: { scale: "none" } }), once(pair, 0.5));
  expect(rows.map(({ advantages_T }) => [...advantages_T])).toEqual([
    [0, 0.25, 0.25],
    [0, -0.25, -0.25],
  ]);
  expect(rows.map(({ reward }) => reward)).toEqual([1, 0]);
});

test("credit is told how much each token counts", async () => {
  const asked: string[][] = [];
  const weigh = async (trajectories: readonly Trajectory[]) => {
    asked.push(trajectories.map(({ id }) => id));
    return trajectories.map((_, i) => Float32Array.of(0, 1, i));
  };
  const algorithm = { ...remax(), credit: codeRlCredit(), weigh };
  const groups = [{ group: pair, scale: 1, baselines: { agent: 0.5 } }];
  const { rows } = await prepareBatch(await engineWith(), algorithm, groups);
  expect(asked).toEqual([["a", "b"]]);
  expect(rows.map(({ advantages_T }) => [...advantages_T])).toEqual([
    [0, 0.5, 0],
    [0, -0.5, -0.5],
  ]);
});

test("what ended in an infrastructure failure is not there, not even in the mean", async () => {
  const crashed = attempt("c", 1000, { stop: "tool-crash", failure: "boom" });
  const group = groupOf(...pair.trajectories, crashed);
  const { rows } = await prepareBatch(await engineWith(), grpo({ deviation: { scale: "none" } }), once(group));
  expect(rows.map(({ id, advantages_T }) => [id, advantages_T[1]])).toEqual([
    ["a", 0.5],
    ["b", -0.5],
  ]);
});

test("copies of a group are groups and rollouts of their own, each of full weight", async () => {
  const { rows } = await prepareBatch(await engineWith(), grpo(), [...once(pair), ...once(pair)]);
  expect(new Set(rows.map(({ rollout }) => rollout)).size).toBe(4);
  expect(new Set(rows.map(({ group }) => group)).size).toBe(2);
});

test("masked stops count in statistics and have no token to learn from", async () => {
  const cut = attempt("a", 1, { stop: "max-tokens" });
  const { rows } = await prepareBatch(await engineWith(), deepswe(), once(groupOf(cut, attempt("b", 0))));
  expect([...rows[0].mask_T]).toEqual([0, 0, 0]);
  expect(rows[1].advantages_T[1]).toBe(-1);
});

test("so has what an algorithm does not learn from", async () => {
  const algorithm = { ...grpo(), learnFrom: ({ score }: Trajectory) => score.success };
  const { rows } = await prepareBatch(await engineWith(), algorithm, once(pair));
  expect(rows.map(({ mask_T }) => mask_T.includes(1))).toEqual([true, false]);
  expect(rows[1].advantages_T[1]).toBeLessThan(0);
});

describe("old log-probabilities", () => {
  test("are those of the sampling where the policy is the one that sampled", async () => {
    const engine = await engineWith();
    const odd = attempt("a", 1, { logprobs_T: Float32Array.of(0, -0.125, -0.25) });
    const { rows, metrics } = await prepareBatch(engine, grpo(), once(groupOf(odd, attempt("b", 0))));
    expect(rows[0].oldLogprobs_T).toEqual(odd.logprobs_T);
    expect(metrics["policy/mismatch-max"]).toBeUndefined();
  });

  test("are computed for those tokens that another version sampled", async () => {
    const stale = attempt("a", 1, {
      logprobs_T: Float32Array.of(0, -2, -2),
      versions_T: Int32Array.of(-1, 0, 3),
    });
    const { rows } = await prepareBatch(await engineWith(), grpo(), once(groupOf(stale, attempt("b", 0))));
    expect(rows[0].oldLogprobs_T[1]).toBeCloseTo(ln(0.5), 6);
    expect(rows[0].behaviourLogprobs_T[1]).toBe(-2);
    expect(rows[1].oldLogprobs_T).toBe(rows[1].behaviourLogprobs_T);
  });

  test("of other weights are computed: their version is not known", async () => {
    const engine = await engineWith();
    await engine.snapshot("other", { trainable: true });
    const fields = { weights: "other", logprobs_T: Float32Array.of(0, -2, -2) };
    const group = groupOf(attempt("a", 1, fields), attempt("b", 0, fields));
    const { rows } = await prepareBatch(engine, grpo(), once(group), ["other"]);
    expect(rows[0].oldLogprobs_T[1]).toBeCloseTo(ln(0.5), 6);
    expect(rows.map(({ weights }) => weights)).toEqual(["other", "other"]);
  });

  test("of truncated sampling are the policy's own, and ratios are against the truncated distribution", async () => {
    const sampled = { logprobs_T: Float32Array.of(0, ln(0.625), ln(0.625)), truncation: { topK: 1 } };
    const { rows, metrics } = await prepareBatch(
      await engineWith(),
      grpo(),
      once(groupOf(attempt("a", 1, sampled), attempt("b", 0))),
    );
    expect([...rows[0].oldLogprobs_T]).toEqual([0, Math.fround(ln(0.5)), Math.fround(ln(0.5))]);
    const ratio_T = rows[0].oldLogprobs_T.map((old, t) => Math.exp(old - rows[0].behaviourLogprobs_T[t]));
    expect(ratio_T[1]).toBeCloseTo(0.8, 6);
    // not a disagreement of sampler and trainer
    expect(metrics["policy/mismatch-max"]).toBeUndefined();
  });

  test("of greedy samples are at temperature 1", async () => {
    const group = groupOf(attempt("a", 1, { temperature: 0, versions_T: Int32Array.of(-1, 9, 9) }), attempt("b", 0));
    const { rows } = await prepareBatch(await engineWith(), grpo(), once(group));
    expect(rows[0].temperature).toBe(1);
  });
});

describe("roles", () => {
  const roles = groupOf(
    attempt("a1", 1, { rollout: "a", role: "one" }),
    attempt("a2", 3, { rollout: "a", role: "two", weights: "other" }),
    attempt("b1", 0, { rollout: "b", role: "one" }),
    attempt("b2", 5, { rollout: "b", role: "two", weights: "other" }),
  );

  test("are compared apart, and those that do not learn are left out", async () => {
    const { rows } = await prepareBatch(await engineWith(), grpo({ deviation: { scale: "none" } }), once(roles));
    expect(rows.map(({ id, advantages_T }) => [id, advantages_T[1]])).toEqual([
      ["a1", 0.5],
      ["b1", -0.5],
    ]);
  });

  test("may be chosen one by one", async () => {
    const engine = await engineWith();
    await engine.snapshot("other", { trainable: true });
    const chosen = [{ group: roles, scale: 1, role: "two" }];
    const { rows } = await prepareBatch(engine, grpo({ deviation: { scale: "none" } }), chosen, ["policy", "other"]);
    expect(rows.map(({ id, advantages_T }) => [id, advantages_T[1]])).toEqual([
      ["a2", -1],
      ["b2", 1],
    ]);
  });

  test("have baselines of their own", async () => {
    const chosen = [{ group: roles, scale: 1, role: "one", baselines: { one: 0.25, two: 100 } }];
    const { rows } = await prepareBatch(await engineWith(), remax(), chosen);
    expect(rows.map(({ advantages_T }) => advantages_T[1])).toEqual([0.75, -0.25]);
  });
});

describe("divergence from the reference", () => {
  // d = log 0.5 - log 0.8 and log 0.5 - log 0.2 for the tokens 0 and 1; k3 = e^-d + d - 1
  const k3 = (d: number) => Math.exp(-d) + d - 1;
  const expected = (k3(ln(0.5) - ln(0.8)) + k3(ln(0.5) - ln(0.2))) / 2;

  test("is measured before the update, whether the penalty is in the loss or in the reward", async () => {
    for (const algorithm of [grpo({ kl: 0.1 }), ppo({ kl: 0.1 })]) {
      const { metrics } = await prepareBatch(await engineWith({ value: () => 0 }), algorithm, once(pair));
      expect(metrics["policy/kl-reference"]).toBeCloseTo(expected, 6);
    }
    const { metrics } = await prepareBatch(await engineWith(), grpo(), once(pair));
    expect(metrics["policy/kl-reference"]).toBeUndefined();
  });

  test("is taken off the rewards of tokens", async () => {
    const kl = adaptiveKl({ initial: 0.5, target: 1, horizon: 100 });
    const algorithm = { ...ppo({ kl }), credit: { ...ppo().credit } };
    let penalties: number[] = [];
    algorithm.credit.assign = (rows) => {
      penalties = [...rows[0].penalties_T!];
      return ppo().credit.assign(rows);
    };
    await prepareBatch(await engineWith({ value: () => 0 }), algorithm, once(pair));
    expect(penalties[0]).toBe(0);
    expect(penalties[1]).toBeCloseTo(0.5 * (ln(0.5) - ln(0.8)), 6);
    expect(penalties[2]).toBeCloseTo(0.5 * (ln(0.5) - ln(0.2)), 6);
  });
});

test("values that are needed and not there are asked for in words", async () => {
  await expect(prepareBatch(await engineWith(), ppo(), once(pair))).rejects.toThrow(/value head/);
});

/** The algorithm with a credit scheme that notes the rows it is given. */
function noting(algorithm: Algorithm) {
  const seen: CreditRow[] = [];
  const credit = {
    ...algorithm.credit,
    assign(rows: readonly CreditRow[]) {
      seen.push(...rows);
      return algorithm.credit.assign(rows);
    },
  };
  return { seen, algorithm: { ...algorithm, credit } };
}

/** Which weights forward passes were made with, and over how many rows. */
async function watchedEngine(options: { value?: () => number } = {}) {
  const engine = await engineWith(options);
  await engine.snapshot("critic", { trainable: true });
  const passes: [string, number][] = [];
  const forward = engine.forward.bind(engine);
  engine.forward = (batch, given = {}) => {
    passes.push([given.weights ?? "policy", batch.rows.length]);
    return forward(batch, given);
  };
  return { engine, passes };
}

test("nothing to learn from is an empty batch of the current version", async () => {
  const { engine, passes } = await watchedEngine();
  expect(await prepareBatch(engine, grpo(), [])).toEqual({ rows: [], metrics: {}, policyVersion: 0 });
  expect(passes).toEqual([]);
});

describe("forward passes", () => {
  test("are made for nothing that is known", async () => {
    const { engine, passes } = await watchedEngine();
    await prepareBatch(engine, grpo(), once(pair));
    expect(passes).toEqual([]);
  });

  test("are made for stale rows alone, at their own temperature", async () => {
    const { engine, passes } = await watchedEngine();
    const stale = attempt("c", 1, { versions_T: Int32Array.of(-1, 5, 5) });
    await prepareBatch(engine, grpo(), once(groupOf(...pair.trajectories, stale)));
    expect(passes).toEqual([["policy", 1]]);
  });

  test("are made for what a guide added, whatever its versions say", async () => {
    const { engine, passes } = await watchedEngine();
    const odd = attempt("a", 1, { logprobs_T: Float32Array.of(0, -2, -2) });
    const chosen = [{ group: groupOf(odd, attempt("b", 0)), scale: 1, isOffPolicy: true }];
    const { rows, metrics } = await prepareBatch(engine, grpo(), chosen);
    expect(passes).toEqual([["policy", 2]]);
    expect(rows[0].oldLogprobs_T[1]).toBeCloseTo(ln(0.5), 6);
    // that sampling and training disagree about it says nothing about the engine
    expect(metrics[metric.mismatchMax]).toBeUndefined();
  });

  test("with a shared critic are made for every row, once, and give its values", async () => {
    const { engine, passes } = await watchedEngine({ value: () => 0.25 });
    const { rows } = await prepareBatch(engine, ppo({ groupSize: 2 }), once(pair));
    expect(passes).toEqual([["policy", 2]]);
    expect([...rows[0].oldValues_T!]).toEqual([0, 0.25, 0.25]);
    expect(rows[0].returns_T).toHaveLength(3);
    // old log-probabilities stay those of the sampling
    expect(rows[0].oldLogprobs_T).toBe(pair.trajectories[0].logprobs_T);
  });

  test("with a separate critic are the critic's alone", async () => {
    const { engine, passes } = await watchedEngine({ value: () => 0.25 });
    await prepareBatch(engine, ppo({ groupSize: 2, critic: { kind: "separate" } }), once(pair));
    expect(passes).toEqual([["critic", 2]]);
  });

  test("with a reference are the reference's, and its log-probabilities are in the rows", async () => {
    const { engine, passes } = await watchedEngine();
    const { rows } = await prepareBatch(engine, grpo({ kl: 0.1 }), once(pair));
    expect(passes).toEqual([["reference", 2]]);
    expect(rows[0].referenceLogprobs_T![1]).toBeCloseTo(ln(0.8), 6);
  });
});

test("the mismatch of sampling and training is the mean and the greatest over tokens of this version", async () => {
  const engine = await engineWith({ value: () => 0 });
  const off = (id: string, first: number, second: number, fields: Partial<Trajectory> = {}) =>
    attempt(id, 1, { logprobs_T: Float32Array.of(0, ln(0.5) - first, ln(0.5) + second), ...fields });
  const group = groupOf(
    off("a", 0.25, 0.125),
    off("b", 0.125, 0.125),
    // a token of another version does not count
    off("c", 0.25, 0.5, { versions_T: Int32Array.of(-1, 0, 7) }),
  );
  const { metrics } = await prepareBatch(engine, ppo({ groupSize: 3 }), once(group));
  expect(metrics[metric.mismatchMax]).toBeCloseTo(0.25, 6);
  expect(metrics[metric.mismatchMean]).toBeCloseTo((0.25 + 0.125 + 0.125 + 0.125 + 0.25) / 5, 6);
});

test("the coefficient of the penalty in the reward is told, and without a reference nothing is taken off", async () => {
  const { seen, algorithm } = noting(grpo());
  const context = { policy: { engine: await engineWith() }, algorithm, learners: ["policy"] };
  const { metrics } = await prepare(context, { groups: once(pair), klCoefficient: 0.5 });
  expect(metrics[metric.klCoefficient]).toBe(0.5);
  expect(seen.every(({ penalties_T }) => penalties_T === undefined)).toBe(true);
});

describe("what credit is given", () => {
  test("has the ratio of the old policy to the one that sampled, at sampled tokens", async () => {
    const { seen, algorithm } = noting(grpo());
    const stale = attempt("a", 1, {
      logprobs_T: Float32Array.of(0, ln(0.25), ln(0.125)),
      versions_T: Int32Array.of(-1, 9, 9),
    });
    await prepareBatch(await engineWith(), algorithm, once(groupOf(stale, attempt("b", 0))));
    expect([...seen[0].ratios_T!]).toEqual([0, expect.closeTo(2, 5), expect.closeTo(4, 5)]);
    expect([...seen[1].ratios_T!]).toEqual([0, 1, 1]);
  });

  test("has turns with their rewards and states", async () => {
    const { seen, algorithm } = noting(grpo());
    const turns = [{ span: { start: 1, end: 3 }, text: "", calls: [], reward: 0.5, observation: "", stateKey: "s" }];
    await prepareBatch(await engineWith(), algorithm, once(groupOf(attempt("a", 1, { turns }), attempt("b", 0))));
    expect(seen[0].turns).toEqual([{ start: 1, end: 3, reward: 0.5, stateKey: "s" }]);
    expect(seen[1].turns).toEqual([{ start: 1, end: 3, reward: 0 }]);
  });

  test("says which row is the last of its rollout and role", async () => {
    const { seen, algorithm } = noting(grpo());
    const part = (id: string, rollout: string, role = "agent") => attempt(id, 1, { rollout, role, weight: 0.5 });
    const parts = [part("a0", "a"), part("a1", "a"), part("b0", "b"), part("b1", "b", "other")];
    await prepareBatch(await engineWith(), algorithm, once(groupOf(...parts)));
    expect(seen.map(({ isLast }) => isLast)).toEqual([false, true, true, true]);
  });
});

describe("a view of what was sampled", () => {
  // the same attempt with one token less before its first turn
  const shorter = (trajectory: Trajectory): Trajectory =>
    makeTrajectory({
      ...trajectory,
      tokens_T: trajectory.tokens_T.subarray(1),
      mask_T: trajectory.mask_T.subarray(1),
      logprobs_T: trajectory.logprobs_T.subarray(1),
      versions_T: trajectory.versions_T.subarray(1),
      turns: trajectory.turns.map((turn) => ({
        ...turn,
        span: { start: turn.span.start - 1, end: turn.span.end - 1 },
      })),
    });
  const longer = (id: string, total: number) =>
    attempt(id, total, {
      tokens_T: Int32Array.of(1, 1, 0, 1),
      mask_T: Uint8Array.of(0, 0, 1, 1),
      logprobs_T: Float32Array.of(0, 0, -2, -2),
      versions_T: Int32Array.of(-1, -1, 0, 0),
      turns: [{ span: { start: 2, end: 4 }, text: "", calls: [], reward: 0, observation: "" }],
    });
  const view = (trajectory: Trajectory) => (trajectory.id === "a" ? shorter(trajectory) : trajectory);

  test("is what is learned from, off-policy, with the tokens it lacks counted", async () => {
    const { engine, passes } = await watchedEngine();
    const asked: string[] = [];
    const learnFrom = ({ id, tokens_T }: Trajectory) => asked.push(`${id} ${tokens_T.length}`) > 0;
    const algorithm = { ...grpo(), view, learnFrom };
    const { rows, metrics } = await prepareBatch(engine, algorithm, once(groupOf(longer("a", 1), longer("b", 0))));
    expect(rows.map(({ tokens_T, viewOffset }) => [tokens_T.length, viewOffset])).toEqual([
      [3, 1],
      [4, undefined],
    ]);
    expect(passes).toEqual([["policy", 1]]);
    expect(rows[0].oldLogprobs_T[1]).toBeCloseTo(ln(0.5), 6);
    expect(rows[0].behaviourLogprobs_T[1]).toBe(-2);
    // the filter is asked about what was sampled
    expect(asked).toEqual(["a 4", "b 4"]);
    expect(metrics[metric.mismatchMax]).toBeUndefined();
  });

  test("is compared with further rewards of its group, from which nothing is learned", async () => {
    const { seen, algorithm } = noting(grpo({ deviation: { scale: "none" } }));
    const given: number[][] = [];
    const compareWith = ({ trajectories }: TrajectoryGroup) => {
      given.push(trajectories.map(({ tokens_T }) => tokens_T.length));
      return [-1, -3];
    };
    const group = groupOf(longer("a", 1), longer("b", 1));
    const { rows } = await prepareBatch(await engineWith(), { ...algorithm, view, compareWith }, once(group));
    // as it was sampled
    expect(given).toEqual([[4, 4]]);
    expect(seen.slice(2)).toMatchObject([
      { group: "task#0/agent", rollout: "task#0/agent/compared/0", reward: -1, weight: 1, isLast: true, turns: [] },
      { group: "task#0/agent", rollout: "task#0/agent/compared/1", reward: -3 },
    ]);
    // the mean of 1, 1, -1 and -3 is -0.5
    expect(rows).toHaveLength(2);
    expect(rows[0].advantages_T.at(-1)).toBe(1.5);
  });
});

test("advantages that do not line up with the tokens are refused before the update", async () => {
  const credit = {
    ...grpo().credit,
    assign: () => ({ advantages_B_T: [0, 1].map(() => new Float32Array(2)), metrics: {} }),
  };
  await expect(prepareBatch(await engineWith(), { ...grpo(), credit }, once(pair))).rejects.toThrow(LudusError);
});
