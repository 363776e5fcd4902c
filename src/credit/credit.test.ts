import { describe, expect, test } from "vitest";
import { makeGroup, makeRow } from "./contract/make-row.ts";
import { creditContract } from "./credit.contract.ts";
import type { Credit } from "./credit.ts";
import {
  biLevelGae,
  drGrpoCredit,
  gae,
  gigpoCredit,
  groupRelative,
  leaveOneOut,
  lengthAdaptiveLambda,
  perDomain,
  perRole,
  reinforcePlusPlusBaselineCredit,
  reinforcePlusPlusCredit,
  remaxCredit,
  retrace,
  stepGae,
  vTrace,
} from "./index.ts";

const credits: readonly (readonly [string, () => Credit])[] = [
  ["groupRelative", () => groupRelative()],
  ["groupRelative, population, floor", () => groupRelative({ std: "population", stdFloor: 0.1, singleton: "zero" })],
  ["drGrpo", () => drGrpoCredit()],
  ["leaveOneOut", () => leaveOneOut()],
  ["reinforcePlusPlus", () => reinforcePlusPlusCredit({ gamma: 0.9 })],
  ["reinforcePlusPlusBaseline", () => reinforcePlusPlusBaselineCredit()],
  ["remax", () => remaxCredit()],
  ["gae, rows chained", () => gae({ gamma: 0.9, lambda: 0.8, rows: "chained" })],
  ["gae as in VAPO", () => gae({ lambda: lengthAdaptiveLambda(0.5), criticLambda: 1, whiten: false, rows: "chained" })],
  ["stepGae", () => stepGae({ gamma: 0.9, lambda: 0.8 })],
  ["biLevelGae", () => biLevelGae({ gamma: 0.9, lambda: 0.8 })],
  ["vTrace", () => vTrace({ gamma: 0.9, lambda: 0.8 })],
  ["retrace", () => retrace({ gamma: 0.9, lambda: 0.8 })],
  ["gigpo", () => gigpoCredit()],
  ["gigpo, mean only", () => gigpoCredit({ scale: "none", omega: 0.5 })],
  ["perDomain of drGrpo", () => perDomain(drGrpoCredit())],
  ["perDomain of remax", () => perDomain(remaxCredit(), { method: "asym-clip", grouping: "batch" })],
  ["perRole", () => perRole()],
  ["perRole of gae", () => perRole(gae({ rows: "chained" }))],
];

describe.each(credits)("%s keeps the credit contract", (_, make) => creditContract(make));

describe("gae, rows apart, keeps the credit contract", () =>
  creditContract(() => gae({ rows: "apart" }), { rowsApart: true }));

test("the contract's worked example", () => {
  const rows = [1, 0].map((reward, g) => makeRow({ mask: [0, 1, 1], rollout: `a/${g}`, reward }));
  const { advantages_B_T } = groupRelative({ scale: "none" }).assign(rows);
  expect(advantages_B_T.map((advantages_T) => [...advantages_T])).toEqual([
    [0, 0.5, 0.5],
    [0, -0.5, -0.5],
  ]);
});

test("a rollout of several rows counts once in its group", () => {
  const whole = [1, 0, 0].map((reward, g) => makeRow({ mask: [1, 1], rollout: `a/${g}`, reward }));
  const parts = [0, 1, 2].map((i) => makeRow({ mask: [1], rollout: "a/0", reward: 1, weight: 1 / 3, isLast: i === 2 }));
  const rows = [...parts, whole[1], whole[2]];
  const { advantages_B_T, metrics } = drGrpoCredit().assign(rows);
  expect(advantages_B_T.map(([first]) => first)).toEqual([2 / 3, 2 / 3, 2 / 3, -1 / 3, -1 / 3].map(Math.fround));
  expect(metrics["credit/group-std"]).toBeCloseTo(0.57735, 5);
});

test.each([
  ["rows of a rollout with different totals", { reward: 2 }, "rewards 1 and 2"],
  ["a row after the last", { reward: 1 }, "after the one that is last"],
  ["a reward that is no number", { rollout: "a/1", reward: Number.NaN }, "reward NaN"],
])("%s: refused", (_, fields, message) => {
  const rows = [makeRow({ mask: [1], reward: 1 }), makeRow({ mask: [1], ...fields })];
  expect(() => groupRelative().assign(rows)).toThrow(message);
});

test.each([
  ["absent", {}, "no values_T in rollout a/0 of group a"],
  ["too short", { values_T: new Float32Array(1) }, "1 values_T in rollout a/0 of group a"],
])("values that are %s: refused by name", (_, fields, message) => {
  expect(() => gae().assign([makeRow({ mask: [1, 1], ...fields })])).toThrow(message);
});

test("the deviation that is reported is the mean over groups", () => {
  const rows = [...makeGroup([1, 0]), ...makeGroup([2, 0], { group: "b" })];
  expect(groupRelative().assign(rows).metrics["credit/group-std"]).toBeCloseTo((3 * Math.SQRT1_2) / 2, 10);
});
