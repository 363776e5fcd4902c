import { expect, test } from "vitest";
import { createRng } from "../random.ts";
import { type CispoLossOptions, cispoLoss } from "./cispo-loss.ts";
import { makeRow } from "./contract/make-row.ts";
import { randomRows } from "./contract/random-rows.ts";
import { lossContract } from "./loss.contract.ts";
import type { LossRow } from "./loss.ts";
import { ppoClip } from "./ppo-clip.ts";
import { totalsOf } from "./totals.ts";

/** -w·A·log π with w as it is at `at`; mean over tokens. */
const withFixedWeights = (weightOf: (ratio: number, advantage: number) => number) => (at: readonly LossRow[]) => {
  const { tokens } = totalsOf(at);
  return (rows: readonly LossRow[]) =>
    rows.reduce((sum, { logprobs_T, advantages_T, mask_T }, b) => {
      const { logprobs_T: fixed_T, oldLogprobs_T } = at[b];
      return logprobs_T.reduce((rowSum, logprob, t) => {
        const weight = weightOf(Math.exp(fixed_T[t] - oldLogprobs_T[t]), advantages_T[t]);
        return rowSum - (mask_T[t] * weight * advantages_T[t] * logprob) / tokens;
      }, sum);
    }, 0);
};
lossContract("CISPO", () => cispoLoss({ cap: 1.3 }), { primitive: withFixedWeights((ratio) => Math.min(ratio, 1.3)) });
lossContract("CISPO with verl's lower clip", () => cispoLoss({ cap: 1.3, floor: 0.8 }), {
  primitive: withFixedWeights((ratio) => Math.max(0.8, Math.min(ratio, 1.3))),
});
lossContract("CISPO in its unified form", () => cispoLoss({ drop: { low: 0.2, high: 0.3 } }), {
  primitive: withFixedWeights((ratio, advantage) =>
    (advantage > 0 && ratio > 1.3) || (advantage < 0 && ratio < 0.8) ? 0 : Math.min(ratio, 5),
  ),
});

function ofToken(ratio: number, advantage: number, options: Partial<CispoLossOptions> = {}) {
  const row = makeRow({
    logprobs_T: Float32Array.of(-2),
    oldLogprobs_T: Float32Array.of(-2 - Math.log(ratio)),
    advantages_T: Float32Array.of(advantage),
  });
  const { loss, derivatives, metrics } = cispoLoss(options).compute([row], totalsOf([row]));
  return { loss, derivative: derivatives.logprobs_B_T[0][0], clip: metrics["policy/clip-high"] };
}

test("a ratio above the cap keeps its gradient at the cap's weight", () => {
  const { loss, derivative, clip } = ofToken(8, 0.5, { cap: 5 });
  expect(loss).toBeCloseTo(5 * 0.5 * 2, 5);
  expect(derivative).toBeCloseTo(-2.5, 5);
  expect(clip).toBe(1);
});

test("there is no lower clip unless asked for", () => {
  expect(ofToken(0.1, -1).derivative).toBeCloseTo(0.1, 5);
  expect(ofToken(0.1, -1, { floor: 0.8 }).derivative).toBeCloseTo(0.8, 5);
});

test.each([1, 2, 3])("uncapped and dropping what PPO clips, the gradient is PPO's (rows %i)", (seed) => {
  const rows = randomRows(createRng(seed));
  const unified = cispoLoss({ cap: Number.POSITIVE_INFINITY, drop: { low: 0.2, high: 0.2 } }).compute(
    rows,
    totalsOf(rows),
  );
  const ppo = ppoClip().compute(rows, totalsOf(rows));
  for (const [b, expected_T] of ppo.derivatives.logprobs_B_T.entries()) {
    for (const [t, expected] of expected_T.entries()) {
      expect(unified.derivatives.logprobs_B_T[b][t]).toBeCloseTo(expected, 6);
    }
  }
  for (const name of ["policy/clip-low", "policy/clip-high"]) {
    expect(ppo.metrics[name]).toBeGreaterThan(0);
    expect(unified.metrics[name]).toBe(ppo.metrics[name]);
  }
});

test("an advantage of 0 is never counted as clipped", () => {
  const clips = (ratio: number, options: Partial<CispoLossOptions>) => {
    const row = makeRow({
      logprobs_T: Float32Array.of(-2),
      oldLogprobs_T: Float32Array.of(-2 - Math.log(ratio)),
      advantages_T: Float32Array.of(0),
    });
    const { metrics } = cispoLoss(options).compute([row], totalsOf([row]));
    return [metrics["policy/clip-low"], metrics["policy/clip-high"]];
  };
  for (const options of [{ floor: 0.8 }, { drop: { low: 0.2, high: 0.3 } }]) {
    expect(clips(8, options)).toEqual([0, 0]);
    expect(clips(0.1, options)).toEqual([0, 0]);
  }
});

test("weights go up to 5 unless told otherwise", () => {
  expect(ofToken(4.9, 1).derivative).toBeCloseTo(-4.9, 4);
  expect(ofToken(5.1, 1).derivative).toBeCloseTo(-5, 5);
});
