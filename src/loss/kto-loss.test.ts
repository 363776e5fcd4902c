import { expect, test } from "vitest";
import { makeRow } from "./contract/make-row.ts";
import { ktoLoss } from "./kto-loss.ts";
import { lossContract } from "./loss.contract.ts";
import type { LossRow } from "./loss.ts";
import { totalsOf } from "./totals.ts";

lossContract("KTO", () => ktoLoss({ beta: 0.5 }));
lossContract("KTO with weights", () => ktoLoss({ beta: 0.5, desirableWeight: 1.3, undesirableWeight: 0.7 }));

const row = (id: string, chosen: boolean, logRatio: number): LossRow =>
  makeRow({
    id,
    preference: { chosen },
    referenceLogprobs_T: Float32Array.of(-9, -2),
    mask_T: Uint8Array.of(0, 1),
    logprobs_T: Float32Array.of(-1, -2 + logRatio),
  });
const sigmoid = (x: number) => 1 / (1 + Math.exp(-x));

test("desirable rows above the batch's divergence, the others below it", () => {
  // mean log-ratio 0.25
  const rows = [row("a", true, 1), row("b", false, -0.5)];
  const loss = ktoLoss({ beta: 0.5, desirableWeight: 2, undesirableWeight: 3 });
  const { loss: value, derivatives, metrics } = loss.compute(rows, totalsOf(rows));
  const [good, bad] = [sigmoid(0.5 * (1 - 0.25)), sigmoid(0.5 * (0.25 + 0.5))];
  expect(value).toBeCloseTo((2 * (1 - good) + 3 * (1 - bad)) / 2, 6);
  expect(derivatives.logprobs_B_T[0][1]).toBeCloseTo((-2 * 0.5 * good * (1 - good)) / 2, 6);
  expect(derivatives.logprobs_B_T[1][1]).toBeCloseTo((3 * 0.5 * bad * (1 - bad)) / 2, 6);
  expect(metrics["kto/baseline"]).toBeCloseTo(0.25, 6);
});

test("the baseline is not below 0: at the reference the loss is a half", () => {
  const rows = [row("a", true, 0), row("b", false, -4)];
  const { derivatives, metrics } = ktoLoss({ beta: 0.5 }).compute(rows, totalsOf(rows));
  expect(metrics["kto/baseline"]).toBe(0);
  expect(derivatives.logprobs_B_T[0][1]).toBeCloseTo(-0.5 * 0.25 * 0.5, 6);
});

test("a row without a label is refused", () => {
  const { preference: _, ...unlabelled } = row("a", true, 0);
  expect(() => ktoLoss().compute([unlabelled], totalsOf([unlabelled]))).toThrow(
    "missing-input: got no preference in row a",
  );
});

test("the margin that is reported is the mean of β times the log-ratio, against the reference for undesirable rows", () => {
  const rows = [row("a", true, 1), row("b", false, -0.5), row("c", false, 0.25)];
  const { metrics } = ktoLoss({ beta: 0.5 }).compute(rows, totalsOf(rows));
  expect(metrics["kto/margin"]).toBeCloseTo((0.5 * (1 + 0.5 - 0.25)) / 3, 6);
});

test("totals without a log-ratio are refused", () => {
  const rows = [row("a", true, 1)];
  const { logRatio: _, ...totals } = totalsOf(rows);
  expect(() => ktoLoss().compute(rows, totals)).toThrow("missing-input: got totals without logRatio");
});
