import { expect, test } from "vitest";
import { makeRow, near } from "./contract/make-row.ts";
import { gigpoCredit } from "./gigpo-credit.ts";
import { groupRelative } from "./group-relative.ts";

// three rollouts; s is met by the first two, t by the first and the third, u by one
const rows = [
  makeRow({ mask: [1, 1, 0, 1], rollout: "a/0", reward: 1, stateKeys: ["s", "t"] }),
  makeRow({ mask: [1, 0, 1, 1], rollout: "a/1", reward: 0, stateKeys: ["s", "u"] }),
  makeRow({ mask: [0, 1], rollout: "a/2", reward: 0, stateKeys: ["t"] }),
];

test("golden: the mean is subtracted in episodes and at equal states", () => {
  const { advantages_B_T, metrics } = gigpoCredit({ scale: "none", omega: 2 }).assign(rows);
  // episodes 2/3, -1/3, -1/3; returns at s 0.95 and 0, at t 1 and 0
  expect([...advantages_B_T[0]]).toEqual(near([2 / 3 + 0.95, 2 / 3 + 0.95, 0, 2 / 3 + 1]));
  expect([...advantages_B_T[1]]).toEqual(near([-1 / 3 - 0.95, 0, -1 / 3, -1 / 3]));
  expect([...advantages_B_T[2]]).toEqual(near([0, -1 / 3 - 1]));
  expect(metrics["credit/anchored-turns"]).toBeCloseTo(4 / 5, 10);
});

test("golden: both divided by their deviation", () => {
  const { advantages_B_T } = gigpoCredit().assign(rows);
  const [best, worst, step] = [1.154699, -0.577349, Math.SQRT1_2];
  expect([...advantages_B_T[0]]).toEqual(near([best + step, best + step, 0, best + step]));
  expect([...advantages_B_T[1]]).toEqual(near([worst - step, 0, worst, worst]));
});

test("turns without a name, and equal names in different groups, are not compared", () => {
  const others = rows.map((row) => ({ ...row, group: "b", reward: row.reward * 7 }));
  const half = rows.map((row) => ({ ...row, turns: row.turns.map(({ stateKey: _, ...turn }) => turn) }));
  const { advantages_B_T } = gigpoCredit().assign([...others, ...rows, ...half.map((row) => ({ ...row, group: "c" }))]);
  expect(advantages_B_T.slice(3, 6)).toEqual(gigpoCredit().assign(rows).advantages_B_T);
  expect(advantages_B_T.slice(6)).toEqual(groupRelative().assign(rows).advantages_B_T);
});

test("a state met once has nothing to be compared with, whatever followed", () => {
  const apart = [
    makeRow({ mask: [1], rollout: "a/0", reward: 1, stateKeys: ["s"] }),
    makeRow({ mask: [1], rollout: "a/1", reward: 0.5, stateKeys: ["t"] }),
  ];
  expect(gigpoCredit().assign(apart).advantages_B_T).toEqual(groupRelative().assign(apart).advantages_B_T);
});

test("omega 0 leaves GRPO", () => {
  expect(gigpoCredit({ omega: 0 }).assign(rows).advantages_B_T).toEqual(groupRelative().assign(rows).advantages_B_T);
});

test("an environment that names no state is refused", () => {
  expect(() => gigpoCredit().assign([makeRow({ mask: [1] })])).toThrow("1 turns without stateKey");
});

test("it says that it needs the names of states", () => {
  expect(gigpoCredit().needs).toEqual({ stateKeys: true });
});
