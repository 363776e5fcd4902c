import { expect, test } from "vitest";
import { createRng } from "../random.ts";
import { firstSampled, makeGroup, near } from "./contract/make-row.ts";
import { drGrpoCredit, groupRelative } from "./group-relative.ts";
import { leaveOneOut, leaveOneOutAdvantages } from "./leave-one-out.ts";
import { relativeAdvantages } from "./relative-advantages.ts";

const rewards = [1, 0, 0, 1, 0, 0, 0, 0];
const spread = (high: number, low: number) => near(rewards.map((reward) => (reward === 1 ? high : low)));

test.each([
  ["verl: Bessel, 1e-6", groupRelative(), 1.620182, -0.540061],
  ["TRL: Bessel, 1e-4", groupRelative({ epsilon: 1e-4 }), 1.619835, -0.539945],
  ["population, 1e-8", groupRelative({ std: "population", epsilon: 1e-8 }), 1.732051, -0.57735],
  ["Dr.GRPO", drGrpoCredit(), 0.75, -0.25],
  ["RLOO", leaveOneOut(), 0.857143, -0.285714],
])("golden: %s", (_, credit, high, low) => {
  const rows = makeGroup(rewards);
  expect(firstSampled(credit.assign(rows).advantages_B_T, rows)).toEqual(spread(high, low));
});

test("equal rewards give exactly 0, also where their sum rounds", () => {
  expect([...relativeAdvantages([0.1, 0.1, 0.1])]).toEqual([0, 0, 0]);
  expect([...leaveOneOutAdvantages([0.1, 0.1, 0.1])]).toEqual([0, 0, 0]);
});

test("a group of one keeps its reward, or gets nothing", () => {
  expect([...relativeAdvantages([3], { epsilon: 0 })]).toEqual([3]);
  expect([...relativeAdvantages([3], { scale: "none" })]).toEqual([3]);
  expect([...relativeAdvantages([3], { singleton: "zero" })]).toEqual([0]);
  expect([...leaveOneOutAdvantages([3])]).toEqual([3]);
});

test("the floor holds down the advantages of rewards that hardly differ", () => {
  const close = [0.5, 0.52];
  expect([...relativeAdvantages(close)]).toEqual(near([-0.707057, 0.707057]));
  expect([...relativeAdvantages(close, { stdFloor: 0.1 })]).toEqual(near([-0.1, 0.1]));
  expect([...relativeAdvantages([0, 1], { stdFloor: 0.1 })]).toEqual([...relativeAdvantages([0, 1])]);
});

test("groups are compared within themselves", () => {
  const rows = [...makeGroup([1, 0]), ...makeGroup([101, 100], { group: "b" })];
  expect(firstSampled(drGrpoCredit().assign(rows).advantages_B_T, rows)).toEqual([0.5, -0.5, 0.5, -0.5]);
});

test("advantages add up to 0, do not change with a shift, and RLOO's are rewards less the mean of the others", () => {
  const rng = createRng(1);
  for (let round = 0; round < 20; round++) {
    const rewards_G = Array.from({ length: 2 + rng.integer(7) }, () => rng.normal());
    const advantages_G = relativeAdvantages(rewards_G);
    expect(advantages_G.reduce((sum, value) => sum + value, 0)).toBeCloseTo(0, 9);
    const shifted_G = rewards_G.map((reward) => reward + 7);
    expect([...relativeAdvantages(shifted_G)]).toEqual(near(advantages_G));
    const total = rewards_G.reduce((sum, reward) => sum + reward, 0);
    const others = rewards_G.map((reward) => reward - (total - reward) / (rewards_G.length - 1));
    expect([...leaveOneOutAdvantages(rewards_G)]).toEqual(near(others));
  }
});

test("penalties of sampled tokens are taken off the totals that are compared", () => {
  const penalised = makeGroup([1, 1]).map((row, g) => ({
    ...row,
    penalties_T: Float32Array.of(9, 0.25 * g, 0.25 * g),
  }));
  const compared = (credit: ReturnType<typeof groupRelative>) =>
    firstSampled(credit.assign(penalised).advantages_B_T, penalised);
  expect(compared(groupRelative({ scale: "none" }))).toEqual(near([0.25, -0.25]));
  expect(compared(leaveOneOut())).toEqual(near([0.5, -0.5]));
});
