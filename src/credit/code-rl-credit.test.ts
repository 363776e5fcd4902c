import { expect, test } from "vitest";
import { codeRlCredit } from "./code-rl-credit.ts";
import { makeRow, near } from "./contract/make-row.ts";

const row = { mask: [0, 1, 1, 1], group: "a", baseline: -0.3, weights_T: Float32Array.of(9, 0.5, 1, 0) };

test("golden: the return over the greedy program's, weighed by the critic at each token", () => {
  const [passed, alike] = codeRlCredit().assign([
    makeRow({ ...row, rollout: "a/0", reward: 1 }),
    makeRow({ ...row, rollout: "a/1", reward: -0.3 }),
  ]).advantages_B_T;
  expect([...passed]).toEqual(near([0, 0.65, 1.3, 0]));
  expect([...alike]).toEqual(near([0, 0, 0, 0]));
});

test("weights that are missing, or too few, are refused", () => {
  const { weights_T: _weights, ...without } = row;
  expect(() => codeRlCredit().assign([makeRow(without)])).toThrow("no weights_T");
  expect(() => codeRlCredit().assign([makeRow({ ...row, weights_T: new Float32Array(2) })])).toThrow("2 weights_T");
});
