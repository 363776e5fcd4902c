import { expect, test } from "vitest";
import { makeRow, near } from "./contract/make-row.ts";
import { perTurn } from "./per-turn.ts";

const rows = [
  makeRow({ mask: [1, 1, 0, 1], rollout: "a/0", turnRewards: [1, 0], reward: 3 }),
  makeRow({ mask: [1, 0, 1], rollout: "a/1", turnRewards: [0, 1], reward: 1 }),
  makeRow({ mask: [1, 0, 1, 0, 1], rollout: "a/2", turnRewards: [0, 0, 0], reward: 0 }),
];

test("golden: returns against those of turns of the same number", () => {
  const { advantages_B_T } = perTurn({ scale: "none", gamma: 0.5 }).assign(rows);
  // first turns 2, 0.5, 0; second turns 2, 1, 0; a third turn without peers
  expect([...advantages_B_T[0]]).toEqual(near([7 / 6, 7 / 6, 0, 1]));
  expect([...advantages_B_T[1]]).toEqual(near([-1 / 3, 0, 0]));
  expect([...advantages_B_T[2]]).toEqual(near([-5 / 6, 0, -1, 0, 0]));
});

test("golden: divided by their deviation", () => {
  const { advantages_B_T } = perTurn({ gamma: 0.5 }).assign(rows);
  expect(advantages_B_T[0][3]).toBeCloseTo(1 / (1 + 1e-6), 6);
  expect(advantages_B_T[0][0]).toBeCloseTo(1.120896, 5);
});

test("peers may be all turns of the group, or of the batch", () => {
  const lone = makeRow({ mask: [1], group: "b", rollout: "b/0", reward: 5 });
  const all = [...rows, lone];
  const group = perTurn({ scale: "none", gamma: 0.5, peers: "group" }).assign(all).advantages_B_T;
  // 2, 2, 0.5, 1, 0, 0, 0: mean 5.5 / 7
  expect(group.map(([first]) => first)).toEqual(near([2 - 5.5 / 7, 0.5 - 5.5 / 7, -5.5 / 7, 0]));
  const batch = perTurn({ scale: "none", gamma: 0.5, peers: "batch" }).assign(all).advantages_B_T;
  expect(batch.map(([first]) => first)).toEqual(near([2, 0.5, 0, 5].map((value) => value - 10.5 / 8)));
});
