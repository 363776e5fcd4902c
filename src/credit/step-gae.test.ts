import { expect, test } from "vitest";
import { makeRow, near } from "./contract/make-row.ts";
import { stepGae } from "./step-gae.ts";

const rows = [
  makeRow({
    mask: [0, 1, 1, 1, 0, 1],
    turnRewards: [0.5, 0],
    reward: 1.5,
    // only the first sampled token of a turn is asked for its value
    values_T: Float32Array.of(0, 0.2, 9, 9, 0, 0.4),
  }),
  makeRow({ mask: [1, 1], rollout: "a/1", values_T: Float32Array.of(0.3, 9) }),
];

test("golden: one step per turn, shared by its tokens", () => {
  const { advantages_B_T, returns_B_T } = stepGae({ gamma: 0.9, lambda: 0.8, whiten: false }).assign(rows);
  expect([...advantages_B_T[0]]).toEqual(near([0, 1.092, 1.092, 1.092, 0, 0.6]));
  expect([...advantages_B_T[1]]).toEqual(near([-0.3, -0.3]));
  expect([...returns_B_T![0]]).toEqual(near([0, 1.292, 1.292, 1.292, 0, 1]));
});

test("golden: whitened over turns, so that long ones weigh no more", () => {
  const { advantages_B_T } = stepGae({ gamma: 0.9, lambda: 0.8 }).assign(rows);
  expect([...advantages_B_T[0]]).toEqual(near([0, 0.88965, 0.88965, 0.88965, 0, 0.192663]));
  expect([...advantages_B_T[1]]).toEqual(near([-1.082314, -1.082314]));
});

test("one row per step, as Agent-R1 has it, is the same rollout", () => {
  const fields = { reward: 1.5, weight: 0.5 };
  const apart = [
    makeRow({ ...fields, mask: [1], turnRewards: [0.5], isLast: false, values_T: Float32Array.of(0.2) }),
    makeRow({ ...fields, mask: [1], values_T: Float32Array.of(0.4) }),
  ];
  const { advantages_B_T } = stepGae({ gamma: 0.9, lambda: 0.8, whiten: false }).assign(apart);
  expect(advantages_B_T.map(([first]) => first)).toEqual(near([1.092, 0.6]));
});

test("turns that all earned the same are whitened to 0", () => {
  const equal = ["a/0", "a/1"].map((rollout) =>
    makeRow({ mask: [1, 1], rollout, reward: 1, values_T: Float32Array.of(0.5, 0) }),
  );
  const { advantages_B_T } = stepGae().assign(equal);
  expect(advantages_B_T.map((advantages_T) => [...advantages_T])).toEqual([near([0, 0]), near([0, 0])]);
});

test("a penalty is charged for sampled tokens alone, also inside a turn", () => {
  const turns = [{ start: 0, end: 4, reward: 0 }];
  const row = makeRow({ mask: [0, 1, 0, 1], reward: 1, values_T: new Float32Array(4) });
  const charged = { ...row, turns, penalties_T: Float32Array.of(9, 0.25, 9, 0.125) };
  const { advantages_B_T } = stepGae({ whiten: false }).assign([charged]);
  expect([...advantages_B_T[0]]).toEqual(near([0, 0.625, 0, 0.625]));
});
