import { expect, test } from "vitest";
import { makeRow } from "./contract/make-row.ts";
import { lossContract } from "./loss.contract.ts";
import { positiveNll } from "./positive-nll.ts";
import { totalsOf } from "./totals.ts";

lossContract("VAPO's language-modelling term", () => positiveNll());
lossContract("the same above another threshold", () => positiveNll({ threshold: 0.5, coefficient: 1 }));

test("a mean over the tokens of rows above the threshold alone", () => {
  const rows = [
    makeRow({ id: "a", reward: 1, logprobs_T: Float32Array.of(-1, -2) }),
    makeRow({ id: "b", reward: 0, logprobs_T: Float32Array.of(-5, -5) }),
    makeRow({ id: "c", reward: 0.5, logprobs_T: Float32Array.of(-3, -9), mask_T: Uint8Array.of(1, 0) }),
  ];
  const { loss, derivatives, metrics } = positiveNll({ coefficient: 0.1 }).compute(rows, totalsOf(rows));
  expect(loss).toBeCloseTo(0.1 * 2, 12);
  expect(derivatives.logprobs_B_T[0][0]).toBeCloseTo(-0.1 / 3, 8);
  expect(derivatives.logprobs_B_T[1]).toEqual(new Float32Array(2));
  expect(metrics["positive-nll/nll"]).toBeCloseTo(2, 12);
  expect(positiveNll({ threshold: 1 }).compute(rows, totalsOf(rows)).loss).toBe(0);
});
