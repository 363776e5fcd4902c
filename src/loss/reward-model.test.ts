import { expect, test } from "vitest";
import { makeRow } from "./contract/make-row.ts";
import { lossContract } from "./loss.contract.ts";
import { outcomeRewardModel, processRewardModel } from "./reward-model.ts";
import { totalsOf } from "./totals.ts";

lossContract("the outcome reward model", outcomeRewardModel);
lossContract("the process reward model", processRewardModel);

const turns = [
  { start: 1, end: 3 },
  { start: 3, end: 5 },
];
const rows = [
  makeRow({
    id: "a",
    logprobs_T: new Float32Array(5),
    mask_T: Uint8Array.of(0, 1, 1, 1, 0),
    turns,
    values_T: Float32Array.of(9, 9, 0, 1, 9),
    returns_T: Float32Array.of(0, 0, 1, 1, 0),
  }),
  makeRow({ id: "b", logprobs_T: new Float32Array(1), values_T: Float32Array.of(2), returns_T: Float32Array.of(0) }),
];
const softplus = (x: number) => Math.log(1 + Math.exp(x));

test("the outcome is judged at the last sampled token", () => {
  const { loss, derivatives, metrics } = outcomeRewardModel().compute(rows, totalsOf(rows));
  expect(loss).toBeCloseTo((softplus(-1) + softplus(2)) / 2, 6);
  expect(derivatives.values_B_T![0].map((x) => (x === 0 ? 0 : 1))).toEqual(Float32Array.of(0, 0, 0, 1, 0));
  expect(derivatives.values_B_T![1][0]).toBeCloseTo(0.880797 / 2, 6);
  expect(metrics["reward-model/accuracy"]).toBe(0.5);
});

test("steps are judged at the last sampled token of each turn", () => {
  const { loss, derivatives } = processRewardModel().compute(rows, totalsOf(rows));
  expect(loss).toBeCloseTo((Math.LN2 + softplus(-1) + softplus(2)) / 3, 6);
  expect(derivatives.values_B_T![0][2]).toBeCloseTo(-0.5 / 3, 6);
});

test("a value of 0 and a label of one half say no", () => {
  const accuracy = (value: number, label: number) => {
    const row = makeRow({
      logprobs_T: new Float32Array(1),
      values_T: Float32Array.of(value),
      returns_T: Float32Array.of(label),
    });
    return outcomeRewardModel().compute([row], totalsOf([row])).metrics["reward-model/accuracy"];
  };
  expect([accuracy(0, 0), accuracy(0, 1), accuracy(-1, 0.5), accuracy(1, 0.5)]).toEqual([1, 0, 1, 0]);
});
