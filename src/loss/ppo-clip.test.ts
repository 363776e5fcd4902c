import { describe, expect, test } from "vitest";
import { createRng } from "../random.ts";
import { makeRow } from "./contract/make-row.ts";
import { randomRows } from "./contract/random-rows.ts";
import { fullRatio, sequenceRatioMask, truncatedRatio } from "./corrections.ts";
import { lossContract } from "./loss.contract.ts";
import { type PpoClipOptions, ppoClip } from "./ppo-clip.ts";
import { totalsOf } from "./totals.ts";

const variants: Record<string, Partial<PpoClipOptions>> = {
  "PPO-clip": {},
  "DAPO's": { clipHigh: 0.28 },
  "GRPO's": { aggregation: "seq-mean-token-mean" },
  "DeepSWE's": { aggregation: "seq-mean-token-sum", clipHigh: 0.28 },
  "Dr.GRPO's": { aggregation: { mode: "seq-mean-token-sum-norm", length: 20 } },
  "M-GRPO's": { aggregation: "turn-mean" },
  "the mean over groups": { aggregation: "group-mean-token-mean" },
  "GSPO's": { ratio: "sequence", clipLow: 0.1, clipHigh: 0.2, aggregation: "seq-mean-token-mean" },
  "dual clip": { dualClip: true, dualClipBound: 1.5 },
  "the mask applied when adding up": { maskInside: false },
  "decoupled PPO": { corrections: [fullRatio()] },
  "truncated and masked by sequence": { corrections: [sequenceRatioMask({ low: 0.7, high: 1.4 }), truncatedRatio()] },
  "log-ratios clamped": { maxLogRatio: 0.3, clipLow: 0.5, clipHigh: 0.5 },
};
for (const [name, options] of Object.entries(variants)) lossContract(name, () => ppoClip(options));

/** Loss and derivative of one token with this ratio and advantage. */
function ofToken(ratio: number, advantage: number, options: Partial<PpoClipOptions> = {}) {
  const logprobs_T = Float32Array.of(-1);
  const row = makeRow({
    logprobs_T,
    oldLogprobs_T: Float32Array.of(-1 - Math.log(ratio)),
    advantages_T: Float32Array.of(advantage),
  });
  const { loss, derivatives, metrics } = ppoClip(options).compute([row], totalsOf([row]));
  return { loss, derivative: derivatives.logprobs_B_T[0][0], metrics };
}

describe("one token", () => {
  test.each([
    { ratio: 1.1, advantage: 2, loss: -2.2, derivative: -2.2, clip: undefined },
    { ratio: 1.5, advantage: 2, loss: -2.4, derivative: 0, clip: "policy/clip-high" },
    { ratio: 0.5, advantage: 2, loss: -1, derivative: -1, clip: undefined },
    { ratio: 0.5, advantage: -2, loss: 1.6, derivative: 0, clip: "policy/clip-low" },
    { ratio: 4, advantage: -2, loss: 8, derivative: 8, clip: undefined },
  ])("ratio $ratio, advantage $advantage: $loss", ({ ratio, advantage, loss, derivative, clip }) => {
    const result = ofToken(ratio, advantage);
    expect(result.loss).toBeCloseTo(loss, 5);
    expect(result.derivative).toBeCloseTo(derivative, 5);
    for (const name of ["policy/clip-low", "policy/clip-high", "policy/clip-dual"]) {
      expect(result.metrics[name]).toBe(name === clip ? 1 : 0);
    }
    expect(result.metrics["policy/ratio-mean"]).toBeCloseTo(ratio, 5);
    expect(result.metrics["policy/kl-old-new"]).toBeCloseTo(ratio - 1 - Math.log(ratio), 5);
  });

  test("clip-higher moves the upper bound alone", () => {
    expect(ofToken(1.5, 1, { clipHigh: 0.28 }).loss).toBeCloseTo(-1.28, 5);
    expect(ofToken(0.5, -1, { clipHigh: 0.28 }).loss).toBeCloseTo(0.8, 5);
  });

  test("dual clip bounds the cost of a bad token at 3 times its advantage", () => {
    expect(ofToken(4, -2, { dualClip: true })).toMatchObject({
      loss: 6,
      derivative: 0,
      metrics: { "policy/clip-dual": 1 },
    });
    expect(ofToken(2.5, -2, { dualClip: true }).derivative).toBeCloseTo(5, 5);
    expect(ofToken(4, 2, { dualClip: true }).loss).toBeCloseTo(-2.4, 5);
  });

  test("the log-ratio is clamped at 20", () => {
    expect(ofToken(Math.exp(30), -1).loss).toBeCloseTo(Math.exp(20), 5);
    expect(ofToken(Math.exp(30), -1).derivative).toBe(0);
  });

  test("an advantage of 0 is never clipped, whatever the ratio", () => {
    for (const ratio of [0.1, 8]) {
      const { metrics } = ofToken(ratio, 0, { dualClip: true });
      const clips = ["policy/clip-low", "policy/clip-high", "policy/clip-dual"].map((name) => metrics[name]);
      expect(clips).toEqual([0, 0, 0]);
    }
  });

  test("the gradient ends beyond the largest log-ratio, not at it", () => {
    const at = (logRatio: number) => {
      const row = makeRow({
        logprobs_T: Float32Array.of(-1),
        oldLogprobs_T: Float32Array.of(-1 - logRatio),
        advantages_T: Float32Array.of(-1),
      });
      const loss = ppoClip({ maxLogRatio: 0.5 });
      return loss.compute([row], totalsOf([row])).derivatives.logprobs_B_T[0][0];
    };
    expect(at(0.5)).toBeCloseTo(Math.exp(0.5), 5);
    expect(at(0.625)).toBe(0);
  });
});

test("GSPO's ratio is the geometric mean, and its gradient reaches every token alike", () => {
  const row = makeRow({
    mask_T: Uint8Array.of(0, 1, 1),
    logprobs_T: Float32Array.of(-9, -1, -1),
    oldLogprobs_T: Float32Array.of(-1, -1.2, -1),
    advantages_T: Float32Array.of(0, 3, 1),
  });
  const loss = ppoClip({ ratio: "sequence" });
  const { loss: value, derivatives, metrics } = loss.compute([row], totalsOf([row]));
  const ratio = Math.exp(0.1);
  expect(metrics["policy/ratio-mean"]).toBeCloseTo(ratio, 6);
  expect(value).toBeCloseTo(-2 * ratio, 6);
  // half of each of the two tokens' -ratio·A/2
  expect(derivatives.logprobs_B_T[0][0]).toBe(0);
  expect(derivatives.logprobs_B_T[0][1]).toBeCloseTo(-ratio, 6);
  expect(derivatives.logprobs_B_T[0][2]).toBeCloseTo(-ratio, 6);
});

test.each([1, 2, 3])("the mask inside the ratio or when adding up: the same gradients (rows %i)", (seed) => {
  const rows = randomRows(createRng(seed));
  for (const ratio of ["token", "sequence"] as const) {
    const inside = ppoClip({ ratio, maskInside: true }).compute(rows, totalsOf(rows));
    const outside = ppoClip({ ratio, maskInside: false }).compute(rows, totalsOf(rows));
    expect(outside.loss).toBeCloseTo(inside.loss, 12);
    expect(outside.metrics).toEqual(inside.metrics);
    const numbers = (arrays_B_T: readonly Float32Array[]) =>
      arrays_B_T.map((array_T) => Array.from(array_T, (x) => x + 0));
    expect(numbers(outside.derivatives.logprobs_B_T)).toEqual(numbers(inside.derivatives.logprobs_B_T));
  }
});

test("entropies are reported where there are any", () => {
  const row = makeRow({ logprobs_T: Float32Array.of(-1, -1), mask_T: Uint8Array.of(0, 1) });
  expect(ppoClip().compute([row], totalsOf([row])).metrics).not.toHaveProperty("policy/entropy");
  const known = { ...row, entropies_T: Float32Array.of(9, 0.5) };
  expect(ppoClip().compute([known], totalsOf([known])).metrics["policy/entropy"]).toBe(0.5);
});

test("options that make no sense are refused", () => {
  expect(() => ppoClip({ dualClip: true, dualClipBound: 1.1 })).toThrow("bad-loss-option: got dualClipBound 1.1");
  expect(() => ppoClip({ clipLow: -0.1 })).toThrow("bad-loss-option: got clip -0.1, 0.2");
  expect(() => ppoClip({ clipHigh: -0.1 })).toThrow("bad-loss-option: got clip 0.2, -0.1");
  expect(() => ppoClip({ dualClip: true, dualClipBound: 1.2 })).toThrow("above 1 + clipHigh = 1.2");
  expect(() => ppoClip({ clipLow: 0, clipHigh: 0 })).not.toThrow();
  expect(() => ppoClip({ dualClipBound: 1 })).toThrow(/"dualClipBound", which has no effect without dualClip/);
});

test("metrics are means over all tokens of the mini-batch, the greatest ratio excepted", () => {
  const rows = ["a", "b"].map((id, b) =>
    makeRow({
      id,
      mask_T: Uint8Array.of(0, 1, 1),
      logprobs_T: Float32Array.of(-1, -1, -1),
      oldLogprobs_T: Float32Array.of(-9, -1 - Math.log(2), -1),
      advantages_T: Float32Array.of(1, 1, b === 0 ? 1 : -1),
      entropies_T: Float32Array.of(9, 0.25, 0.5),
    }),
  );
  const { metrics, maxima } = ppoClip().compute(rows, totalsOf(rows));
  expect(metrics["policy/clip-high"]).toBe(0.5);
  expect(metrics["policy/ratio-mean"]).toBeCloseTo(1.5, 6);
  expect(maxima).toEqual({ "policy/ratio-max": expect.closeTo(2, 6) });
  expect(metrics["policy/kl-old-new"]).toBeCloseTo((1 - Math.LN2) / 2, 6);
  expect(metrics["policy/entropy"]).toBeCloseTo(0.375, 6);
});
