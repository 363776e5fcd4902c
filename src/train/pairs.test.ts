import { describe, expect, test } from "vitest";
import { attempt, groupOf } from "./fixtures/attempt.ts";
import { type PreferencePair, stepPairs, successPairs, trajectoryPairs } from "./pairs.ts";

const ids = (pairs: readonly PreferencePair[]) =>
  pairs.map(({ chosen, rejected }) => {
    const side = (sides: PreferencePair["chosen"]) =>
      sides.map(({ trajectory, turn }) => (turn === undefined ? trajectory.id : `${trajectory.id}:${turn}`)).join("+");
    return `${side(chosen)} > ${side(rejected)}`;
  });

describe("whole attempts", () => {
  const group = groupOf(
    attempt("a", [[2]], 0.5),
    attempt("b", [[3]], 1),
    attempt("c", [[4]], 0),
    attempt("d", [[5]], 1, { stop: "tool-crash" }),
  );

  test("the best against the worst", () => {
    expect(ids(trajectoryPairs(group))).toEqual(["b > c"]);
    expect(trajectoryPairs(group)[0].gap).toBe(1);
  });

  test("or each against each", () => {
    expect(ids(trajectoryPairs(group, { choose: "all" }))).toEqual(["a > c", "b > a", "b > c"]);
    expect(ids(trajectoryPairs(group, { choose: "all", minGap: 0.6 }))).toEqual(["b > c"]);
  });

  test("success against failure", () => {
    expect(ids(successPairs(group, { choose: "all" }))).toEqual(["b > a", "b > c"]);
    expect(ids(successPairs(group))).toEqual(["b > a"]);
    expect(successPairs(group)[0].chosen[0].trajectory).toBe(group.trajectories[1]);
  });

  test("equals make no pair, whatever gap is asked for", () => {
    const equal = groupOf(attempt("a", [[2]], 1), attempt("b", [[3]], 1));
    expect(trajectoryPairs(equal, { minGap: 0, choose: "all" })).toEqual([]);
  });

  test("trajectories of one rollout are one side, roles are apart", () => {
    const half = { rollout: "a", weight: 0.5 };
    const rows = groupOf(attempt("a1", [[2]], 1, half), attempt("a2", [[3]], 1, half), attempt("b", [[4]], 0));
    expect(ids(trajectoryPairs(rows))).toEqual(["a1+a2 > b"]);
    const roles = groupOf(attempt("a", [[2]], 1, { role: "one" }), attempt("b", [[3]], 0, { role: "two" }));
    expect(trajectoryPairs(roles)).toEqual([]);
  });
});

describe("single turns", () => {
  test("are compared where attempts parted, by the mean of what followed", () => {
    const group = groupOf(
      attempt("a", [[2], [4]], 1),
      attempt("b", [[2], [5]], 0),
      attempt("c", [[3], [4]], 0),
      attempt("d", [[3], [5]], 0),
    );
    // 2 is worth 0.5, 3 nothing; after 2, 4 is worth 1 and 5 nothing; after 3 nothing matters any more
    expect(ids(stepPairs(group))).toEqual(["a:0 > c:0", "a:1 > b:1"]);
    expect(stepPairs(group).map(({ gap }) => gap)).toEqual([0.5, 1]);
    expect(ids(stepPairs(group, { minGap: 0.75 }))).toEqual(["a:1 > b:1"]);
  });

  test("or where states have the same name", () => {
    const named = (id: string, said: number, total: number, stateKey?: string) => {
      const made = attempt(id, [[7], [said]], total);
      const turns = made.turns.map((turn, i) => (i === 1 && stateKey !== undefined ? { ...turn, stateKey } : turn));
      // they came to it on different ways
      return { ...made, turns, tokens_T: made.tokens_T.map((token, t) => (t === 0 ? id.charCodeAt(0) : token)) };
    };
    const group = groupOf(
      named("a", 2, 1, "door"),
      named("b", 3, 0, "door"),
      named("c", 3, 0, "hall"),
      named("d", 9, 1),
    );
    expect(ids(stepPairs(group, { same: "state" }))).toEqual(["a:1 > b:1"]);
    expect(stepPairs(group)).toEqual([]);
  });
});
