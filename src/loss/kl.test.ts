import { describe, expect, test } from "vitest";
import { makeRow } from "./contract/make-row.ts";
import { type KlEstimator, klPenalty, klSlope, klValue } from "./kl.ts";
import { lossContract } from "./loss.contract.ts";
import { totalsOf } from "./totals.ts";

for (const estimator of ["k1", "k2", "k3"] as const) {
  lossContract(`the KL penalty by ${estimator}`, () => klPenalty({ coefficient: 0.5, estimator }));
}
const k2 = klPenalty({ coefficient: 0.5, estimator: "k2", aggregation: "seq-mean-token-mean" });
lossContract(
  "the KL penalty by k3 with k2's gradient",
  () => klPenalty({ coefficient: 0.5, gradient: "k2", aggregation: "seq-mean-token-mean" }),
  { primitive: (at) => (rows) => k2.compute(rows, totalsOf(at)).loss },
);

describe("estimators", () => {
  test.each<[KlEstimator, number, number]>([
    ["k1", 0.5, 0.5],
    ["k2", 0.5, 0.125],
    ["k3", 0.5, 0.106531],
    ["k1", -0.5, -0.5],
    ["k2", -0.5, 0.125],
    ["k3", -0.5, 0.148721],
    ["k3", -5, 10],
    ["k3", -100, 10],
    ["k3", 100, 10],
    ["k1", -100, -100],
    ["k2", -100, 5000],
  ])("%s of %f is %f", (estimator, d, expected) => expect(klValue(estimator, d)).toBeCloseTo(expected, 6));

  test("k3 has no gradient where it is clamped; k2 always has", () => {
    expect(klSlope("k3", -5)).toBe(0);
    // 9.86 and 10.03
    expect(klSlope("k3", -2.6)).toBeCloseTo(-Math.expm1(2.6), 6);
    expect(klSlope("k3", -2.615)).toBe(0);
    expect([klSlope("k1", 7), klSlope("k1", -7)]).toEqual([1, 1]);
    expect(klSlope("k3", 100)).toBe(0);
    expect(klSlope("k2", -5)).toBe(-5);
  });
});

test("the value of k3 with the gradient of k2", () => {
  const row = makeRow({ logprobs_T: Float32Array.of(-1), referenceLogprobs_T: Float32Array.of(-1.5) });
  const { loss, derivatives } = klPenalty({ coefficient: 2, gradient: "k2" }).compute([row], totalsOf([row]));
  expect(loss).toBeCloseTo(2 * 0.106531, 5);
  expect(derivatives.logprobs_B_T[0]).toEqual(Float32Array.of(2 * 0.5));
});

test("the penalty is the coefficient times the mean over tokens", () => {
  const row = (id: string, logprob: number) =>
    makeRow({
      id,
      logprobs_T: Float32Array.of(-9, logprob),
      referenceLogprobs_T: Float32Array.of(0, -1),
      mask_T: Uint8Array.of(0, 1),
    });
  const rows = [row("a", -0.5), row("b", -2)];
  const { loss } = klPenalty({ coefficient: 4, estimator: "k2" }).compute(rows, totalsOf(rows));
  expect(loss).toBeCloseTo((4 * (0.125 + 0.5)) / 2, 6);
});
