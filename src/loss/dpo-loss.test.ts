import { describe, expect, test } from "vitest";
import { makeRow } from "./contract/make-row.ts";
import { dpoLoss } from "./dpo-loss.ts";
import { lossContract } from "./loss.contract.ts";
import type { LossRow } from "./loss.ts";
import { totalsOf } from "./totals.ts";

lossContract("DPO", () => dpoLoss({ beta: 0.5 }));
lossContract("DPO with label smoothing", () => dpoLoss({ beta: 0.5, labelSmoothing: 0.1 }));
lossContract("IPO", () => dpoLoss({ beta: 0.5, variant: "ipo" }));

/** A row of a pair whose tokens are this much likelier than under the reference. */
const row = (id: string, pair: number, chosen: boolean, logRatios: number[]): LossRow =>
  makeRow({
    id,
    preference: { pair, chosen },
    referenceLogprobs_T: Float32Array.from(logRatios, () => -2),
    logprobs_T: Float32Array.from(logRatios, (logRatio) => -2 + logRatio),
  });

test("at the reference the loss is ln 2 and the derivative β/2 each way", () => {
  const rows = [row("a", 0, true, [0, 0]), row("b", 0, false, [0])];
  const { loss, derivatives } = dpoLoss({ beta: 0.3 }).compute(rows, totalsOf(rows));
  expect(loss).toBeCloseTo(Math.LN2, 12);
  expect(derivatives.logprobs_B_T).toEqual([Float32Array.of(-0.15, -0.15), Float32Array.of(0.15)]);
});

describe("a margin of 1", () => {
  const rows = [row("a", 7, true, [0.5, 0.25]), row("b", 7, false, [-0.25])];
  const compute = (options: Parameters<typeof dpoLoss>[0]) => dpoLoss(options).compute(rows, totalsOf(rows));

  test("-log σ(β)", () => {
    const { loss, derivatives, metrics } = compute({ beta: 0.5 });
    expect(loss).toBeCloseTo(0.474077, 6);
    expect(derivatives.logprobs_B_T[0][0]).toBeCloseTo(-0.5 * 0.377541, 6);
    const expected = {
      "dpo/accuracy": 1,
      "dpo/margin": 0.5,
      "dpo/reward-chosen": 0.375,
      "dpo/reward-rejected": -0.125,
    };
    expect(metrics).toEqual(expected);
  });

  test("label smoothing mixes in the other label", () => {
    expect(compute({ beta: 0.5, labelSmoothing: 0.1 }).loss).toBeCloseTo(0.9 * 0.474077 + 0.1 * 0.974077, 6);
  });

  test("IPO: the square of the margin per token less 1/(2β)", () => {
    const { loss, derivatives } = compute({ beta: 0.5, variant: "ipo" });
    // 0.375 + 0.25 - 1
    expect(loss).toBeCloseTo(0.140625, 6);
    expect(derivatives.logprobs_B_T).toEqual([Float32Array.of(-0.375, -0.375), Float32Array.of(0.75)]);
  });
});

test("a trajectory in several rows is one trajectory", () => {
  const whole = [row("a", 0, true, [0.5, 0.25, 1]), row("b", 0, false, [-0.25])];
  const parts = [row("a/0", 0, true, [0.5]), row("b", 0, false, [-0.25]), row("a/1", 0, true, [0.25, 1])];
  for (const variant of ["sigmoid", "ipo"] as const) {
    const expected = dpoLoss({ variant }).compute(whole, totalsOf(whole));
    const given = dpoLoss({ variant }).compute(parts, totalsOf(parts));
    expect(given.loss).toBeCloseTo(expected.loss, 12);
    expect(given.derivatives.logprobs_B_T[2]).toEqual(expected.derivatives.logprobs_B_T[0].slice(1));
  }
});

test("a pair that was torn apart is refused", () => {
  const rows = [row("a", 4, true, [0])];
  expect(() => dpoLoss().compute(rows, totalsOf(rows))).toThrow(
    "broken-pair: got pair 4 with 1 chosen and 0 rejected rows",
  );
});

test("everything is a mean over pairs", () => {
  const rows = [
    ...[row("a", 0, true, [0.5]), row("b", 0, false, [-0.5])],
    ...[row("c", 1, true, [-1]), row("d", 1, false, [1])],
  ];
  const { loss, derivatives, metrics } = dpoLoss({ beta: 1 }).compute(rows, totalsOf(rows));
  const softplus = (x: number) => Math.log(1 + Math.exp(x));
  expect(loss).toBeCloseTo((softplus(-1) + softplus(2)) / 2, 6);
  expect(derivatives.logprobs_B_T[0][0]).toBeCloseTo(-0.268941 / 2, 6);
  expect(derivatives.logprobs_B_T[3][0]).toBeCloseTo(0.880797 / 2, 6);
  expect(metrics).toEqual({
    "dpo/accuracy": 0.5,
    "dpo/margin": -0.5,
    "dpo/reward-chosen": -0.25,
    "dpo/reward-rejected": 0.25,
  });
});

test("equal sides are not told apart", () => {
  const rows = [row("a", 0, true, [0.5]), row("b", 0, false, [0.5])];
  expect(dpoLoss().compute(rows, totalsOf(rows)).metrics["dpo/accuracy"]).toBe(0);
});
