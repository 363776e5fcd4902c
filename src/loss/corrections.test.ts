import { describe, expect, test } from "vitest";
import { makeRow } from "./contract/make-row.ts";
import {
  type Correction,
  fullRatio,
  maskedRatio,
  sequenceDivergenceMask,
  sequenceRatioMask,
  truncatedRatio,
} from "./corrections.ts";
import { ppoClip } from "./ppo-clip.ts";
import { reinforce } from "./reinforce.ts";
import { totalsOf } from "./totals.ts";

// π_old/π_behaviour: not sampled, 4, 0.25, 1.2
const ratios = [100, 4, 0.25, 1.2];
const row = makeRow({
  mask_T: Uint8Array.of(0, 1, 1, 1),
  logprobs_T: Float32Array.of(-1, -1, -1, -1),
  oldLogprobs_T: Float32Array.from(ratios, (ratio) => -2 + Math.log(ratio)),
  advantages_T: Float32Array.of(1, 1, 1, 1),
  behaviourLogprobs_T: Float32Array.of(-2, -2, -2, -2),
});

function weights(...corrections: Correction[]): number[] {
  const weights_T = new Float64Array(4).fill(1);
  for (const correction of corrections) correction.apply(row, weights_T);
  return Array.from(weights_T, (weight) => Number(weight.toFixed(6)));
}

describe("weights", () => {
  test("the whole ratio", () => expect(weights(fullRatio())).toEqual([1, 4, 0.25, 1.2]));
  test("truncated at 2", () => expect(weights(truncatedRatio())).toEqual([1, 2, 0.25, 1.2]));
  test("nothing outside the bounds", () => expect(weights(maskedRatio())).toEqual([1, 4, 0, 1.2]));
  test("of the sequence: the product", () => {
    expect(weights(truncatedRatio({ level: "sequence" }))).toEqual([1, 1.2, 1.2, 1.2]);
    expect(weights(truncatedRatio({ level: "sequence", cap: 1.1 }))).toEqual([1, 1.1, 1.1, 1.1]);
    expect(weights(maskedRatio({ level: "sequence", high: 1.1 }))).toEqual([1, 0, 0, 0]);
  });
  test("rows by their geometric mean, 1.0627", () => {
    expect(weights(sequenceRatioMask({ low: 0.9, high: 1.07 }))).toEqual([1, 1, 1, 1]);
    expect(weights(sequenceRatioMask({ low: 0.9, high: 1.06 }))).toEqual([0, 0, 0, 0]);
    expect(weights(sequenceRatioMask({ low: 1.07, high: 2 }))).toEqual([0, 0, 0, 0]);
  });
  test("rows by their divergence, the mean of r - 1 - log r, 0.7559", () => {
    expect(weights(sequenceDivergenceMask({ max: 0.757 }))).toEqual([1, 1, 1, 1]);
    expect(weights(sequenceDivergenceMask({ max: 0.755 }))).toEqual([0, 0, 0, 0]);
  });
  test("several multiply", () => expect(weights(truncatedRatio(), fullRatio())).toEqual([1, 8, 0.0625, 1.44]));
});

test("the loss is weighted, the denominator is not, and what was rejected is counted", () => {
  const loss = reinforce({ corrections: [maskedRatio()] });
  const { loss: value, derivatives, metrics } = loss.compute([row], totalsOf([row]));
  expect(value).toBeCloseTo((4 + 0 + 1.2) / 3, 6);
  expect(derivatives.logprobs_B_T[0][1]).toBeCloseTo(-4 / 3, 6);
  expect(metrics["policy/correction-mean"]).toBeCloseTo(5.2 / 3, 6);
  expect(metrics["policy/correction-rejected"]).toBeCloseTo(1 / 3, 6);
});

test("decoupled PPO inside the clip range is importance sampling from the behaviour policy", () => {
  const near = { ...row, logprobs_T: row.oldLogprobs_T.map((logprob, t) => logprob + 0.01 * t) };
  const { derivatives } = ppoClip({ corrections: [fullRatio()] }).compute([near], totalsOf([near]));
  for (const t of [1, 2, 3]) {
    const ratio = Math.exp(near.logprobs_T[t] - near.behaviourLogprobs_T[t]);
    expect(derivatives.logprobs_B_T[0][t]).toBeCloseTo(-ratio / 3, 5);
  }
});

test("ratios are bounded at e^20 either way, so that no weight is infinite", () => {
  const far = (logRatio: number) => ({
    ...row,
    oldLogprobs_T: row.behaviourLogprobs_T.map((logprob) => logprob + logRatio),
  });
  for (const [logRatio, bound] of [
    [500, 20],
    [-500, -20],
  ]) {
    const weights_T = new Float64Array(4).fill(1);
    fullRatio().apply(far(logRatio), weights_T);
    expect(Math.log(weights_T[1])).toBeCloseTo(bound, 9);
    expect(weights_T[0]).toBe(1);
  }
});

test("bounds themselves are inside", () => {
  const at = (logRatio: number, correction: Correction) => {
    const weights_T = new Float64Array(4).fill(1);
    correction.apply(
      { ...row, oldLogprobs_T: row.behaviourLogprobs_T.map((logprob) => logprob + logRatio) },
      weights_T,
    );
    return weights_T[1];
  };
  expect(at(0, maskedRatio({ low: 1, high: 2 }))).toBe(1);
  expect(at(0, maskedRatio({ low: 0.5, high: 1 }))).toBe(1);
  expect(at(0, sequenceRatioMask({ low: 1, high: 2 }))).toBe(1);
  expect(at(0, sequenceRatioMask({ low: 0.5, high: 1 }))).toBe(1);
  expect(at(0, sequenceDivergenceMask({ max: 0 }))).toBe(1);
});
