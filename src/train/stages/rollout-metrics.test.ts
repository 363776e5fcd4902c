import { describe, expect, test } from "vitest";
import type { RolloutGroup } from "../../rollout/run-group.ts";
import { metric } from "../../schema/metric-names.ts";
import type { Trajectory } from "../../schema/trajectory.ts";
import type { CallOutcome } from "../../schema/turn.ts";
import { attempt, groupOf } from "../fixtures/attempt.ts";
import { RolloutCosts, rolloutMetrics, speedMetrics } from "./rollout-metrics.ts";

/** A group as rollouts give it: trajectories of one rollout belong together. */
function rolled(...trajectories: Trajectory[]): RolloutGroup {
  const group = groupOf(...trajectories);
  const rollouts = [...Map.groupBy(trajectories, ({ rollout }) => rollout)].map(([id, members]) => ({
    id,
    task: group.task,
    trajectories: members,
    stop: members[0].stop,
    timing: { sampleMs: 0, totalMs: 0 },
  }));
  return { ...group, rollouts };
}

const calling = (id: string, ...outcomes: CallOutcome[]) => {
  const plain = attempt(id, [[2]], 0);
  const calls = outcomes.map((outcome) => ({ name: "look", arguments: {}, outcome, observation: "" }));
  return { ...plain, turns: plain.turns.map((turn) => ({ ...turn, calls })) };
};

test("means are over rollouts, whatever the number of their trajectories", () => {
  const halves = [
    attempt("a/0", [[2, 3]], 1, { rollout: "a", weight: 0.5 }),
    attempt("a/1", [[4]], 1, { rollout: "a", weight: 0.5 }),
  ];
  const metrics = rolloutMetrics([rolled(...halves, attempt("b", [[2], [3], [4]], 0))], 8);
  expect(metrics).toMatchObject({
    [metric.reward]: 0.5,
    [metric.success]: 0.5,
    [metric.turns]: (2 + 3) / 2,
    [metric.turnShare]: 2.5 / 8,
    [metric.tokens]: (3 + 2 + 6) / 2,
    [metric.entropy]: 0.5,
    [metric.stop("completed")]: 1,
    [metric.rewardPart("outcome")]: 0.5,
  });
});

test("infrastructure failures are in the shares of stops and in nothing else", () => {
  const crashed = attempt("c", [[2, 2, 2]], 100, { stop: "tool-crash", failure: "boom" });
  const groups = (...more: Trajectory[]) => [rolled(attempt("a", [[2]], 1), attempt("b", [[2]], 0), ...more)];
  const without = rolloutMetrics(groups(), 4);
  expect(rolloutMetrics(groups(crashed), 4)).toEqual({
    ...without,
    [metric.stop("completed")]: 2 / 3,
    [metric.stop("tool-crash")]: 1 / 3,
  });
});

test("the deviation of rewards is of each group, unbiased, and 0 of a single attempt", () => {
  const pair = rolled(attempt("a", [[2]], 1), attempt("b", [[2]], 0));
  const alone = rolled(attempt("c", [[2]], 1));
  expect(rolloutMetrics([pair], 4)[metric.rewardStd]).toBeCloseTo(Math.SQRT1_2, 12);
  expect(rolloutMetrics([pair, alone], 4)[metric.rewardStd]).toBeCloseTo(Math.SQRT1_2 / 2, 12);
});

test("a part that only some attempts have counts 0 for the others", () => {
  const paid = attempt("a", [[2]], 1, { score: { total: 1, parts: { style: 3, outcome: 1 }, success: true } });
  const metrics = rolloutMetrics([rolled(paid, attempt("b", [[2]], 0))], 4);
  expect(metrics).toMatchObject({ [metric.rewardPart("style")]: 1.5, [metric.rewardPart("outcome")]: 0.5 });
});

describe("tool calls", () => {
  test("are counted by rollout, and by how they fared", () => {
    const group = rolled(calling("a", "ok", "error", "unknown-tool"), calling("b", "bad-arguments", "malformed"));
    expect(rolloutMetrics([group], 4)).toMatchObject({
      [metric.toolCalls]: 2.5,
      [metric.toolUnknown]: 1 / 5,
      [metric.toolErrors]: 4 / 5,
    });
  });

  test("are no metric where there were none", () => {
    const metrics = rolloutMetrics([rolled(attempt("a", [[2]], 1))], 4);
    for (const name of [metric.toolCalls, metric.toolUnknown, metric.toolErrors])
      expect(metrics).not.toHaveProperty(name);
  });
});

test("repeats are turns that say what the turn before said", () => {
  const group = rolled(attempt("a", [[2], [2], [3], [2]], 0), attempt("b", [[3]], 0));
  expect(rolloutMetrics([group], 4)[metric.repeats]).toBeCloseTo(1 / 3, 12);
  expect(rolloutMetrics([rolled(attempt("b", [[3]], 0))], 4)[metric.repeats]).toBe(0);
});

test("nothing at all is zeros, not NaN", () => {
  expect(Object.values(rolloutMetrics([], 4)).every((value) => value === 0)).toBe(true);
});

test("speed is what was sampled over the seconds of all stages", () => {
  expect(speedMetrics({ [metric.sampledTokens]: 30 }, { a: 1, b: 2 })).toEqual({ [metric.tokensPerSecond]: 10 });
  expect(speedMetrics({ [metric.sampledTokens]: 30 }, {})).toEqual({});
  expect(speedMetrics({}, { a: 1 })).toEqual({});
});

test("costs are of every attempt, whatever became of it", () => {
  const costs = new RolloutCosts();
  const crashed = attempt("c", [[2, 2, 2]], 100, { stop: "tool-crash", failure: "boom" });
  for (const { trajectories } of rolled(attempt("a", [[2]], 1), crashed).rollouts) costs.add({ trajectories });
  expect(costs.metrics).toEqual({ [metric.rollouts]: 2, [metric.sampledTokens]: 4 });
});

test("asks, denials and violations are counted a rollout, where tools are under permissions", () => {
  const plain = attempt("a", [[2]], 0);
  const call = { name: "pay", arguments: {}, outcome: "denied", observation: "" } as const;
  const calls = [
    { ...call, permission: { allowed: false, by: "rule", asked: false } },
    { ...call, permission: { allowed: false, by: "person", asked: true } },
    { ...call, outcome: "ok", permission: { allowed: true, by: "default", asked: false } },
  ] as const;
  const decided = { ...plain, turns: plain.turns.map((turn) => ({ ...turn, calls })) };
  expect(rolloutMetrics([rolled(decided, attempt("b", [[2]], 0))], 4)).toMatchObject({
    [metric.asks]: 0.5,
    [metric.denials]: 1,
    [metric.violations]: 0.5,
  });
  expect(rolloutMetrics([rolled(calling("c", "ok"))], 4)).not.toHaveProperty([metric.denials]);
});
