import { expect, test } from "vitest";
import { firstSampled, makeGroup, makeRow, near } from "./contract/make-row.ts";
import { sampleRows } from "./contract/sample-rows.ts";
import type { CreditRow } from "./credit.ts";
import { reinforcePlusPlusBaselineCredit, reinforcePlusPlusCredit } from "./reinforce-plus-plus.ts";

function sampledOf(rows: readonly CreditRow[], arrays_B_T: readonly Float32Array[]): number[] {
  return rows.flatMap(({ mask_T }, b) => [...arrays_B_T[b]].filter((_, t) => mask_T[t] === 1));
}

test("golden: returns 0.25, 0.5, 1 and 0, 0, 0 whitened over all six tokens", () => {
  const rows = [1, 0].map((reward, g) => makeRow({ mask: [1, 0, 1, 1], rollout: `a/${g}`, reward }));
  const { advantages_B_T } = reinforcePlusPlusCredit({ gamma: 0.5 }).assign(rows);
  expect([...advantages_B_T[0]]).toEqual(near([-0.104031, 0, 0.520156, 1.768532]));
  expect([...advantages_B_T[1]]).toEqual(near([-0.728219, 0, -0.728219, -0.728219]));
});

test("golden: with a baseline, the group's mean is gone before the batch is whitened", () => {
  const rows = [...makeGroup([1, 0]), ...makeGroup([11, 10], { group: "b" })];
  const { advantages_B_T } = reinforcePlusPlusBaselineCredit().assign(rows);
  // +-0.5 over 8 tokens: variance 2 / 7
  expect(firstSampled(advantages_B_T, rows)).toEqual(near([0.935414, -0.935414, 0.935414, -0.935414]));
});

test("sampled tokens have mean 0 and variance 1", () => {
  for (const credit of [reinforcePlusPlusCredit({ gamma: 0.9 }), reinforcePlusPlusBaselineCredit()]) {
    const rows = sampleRows(12);
    const values = sampledOf(rows, credit.assign(rows).advantages_B_T);
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1);
    expect(mean).toBeCloseTo(0, 5);
    expect(variance).toBeCloseTo(1, 5);
  }
});

test("one token alone is centred", () => {
  expect([...reinforcePlusPlusCredit().assign([makeRow({ mask: [1], reward: 5 })]).advantages_B_T[0]]).toEqual([0]);
});

test("with a baseline, groups are not brought to one deviation", () => {
  const rows = [...makeGroup([1, 0]), ...makeGroup([10, 0], { group: "b" })];
  const [small, , large] = firstSampled(reinforcePlusPlusBaselineCredit().assign(rows).advantages_B_T, rows);
  expect(large / small).toBeCloseTo(10, 4);
});
