import { describe, expect, test } from "vitest";
import { makeRow } from "./contract/make-row.ts";
import { lossContract } from "./loss.contract.ts";
import type { LossRow } from "./loss.ts";
import { totalsOf } from "./totals.ts";
import { type WebRlSmoothOptions, webRlSmooth, webRlSquared } from "./web-rl.ts";

lossContract("WebRL's loss in the paper", () => webRlSquared({ beta: 0.5 }));

const sum = (numbers: Iterable<number>) => [...numbers].reduce((total, number) => total + number, 0);

/** The code's loss written out again, β and the weight of imitation as they are at `at`. */
const written = (options: Partial<WebRlSmoothOptions>) => (at: readonly LossRow[]) => {
  const actions = at.flatMap((row, b) =>
    row.turns.map(({ start, end }) => {
      const places = [...row.mask_T.keys()].filter((t) => t >= start && t < end && row.mask_T[t] === 1);
      return { b, places, n: places.length };
    }),
  );
  const counted = actions.filter(({ n }) => n > 0);
  const mean = (array_T: Float32Array, places: number[]) => sum(places.map((t) => array_T[t])) / places.length;
  const delta = (row: LossRow, places: number[]) =>
    mean(row.logprobs_T, places) - mean(row.referenceLogprobs_T!, places);
  return (rows: readonly LossRow[]) =>
    sum(
      counted.map(({ b, places }) => {
        const row = at[b];
        const isGood = mean(row.advantages_T, places) >= 0;
        if (!isGood && !options.learnFromBad) return 0;
        const target = isGood ? 1 : -0.6;
        const probability = Math.exp(mean(row.referenceLogprobs_T!, places));
        const raised = isGood ? probability >= 0.8 : probability < 0.9;
        const beta = Math.min(raised ? 5 : 1, Math.abs(target / delta(row, places)));
        const error = Math.abs(beta * delta(rows[b], places) - target);
        const imitated = isGood && options.imitate ? Math.exp(1 - Math.exp(mean(row.logprobs_T, places))) : 0;
        return (error < 1 ? error ** 2 / 2 : error - 0.5) / beta - imitated * mean(rows[b].logprobs_T, places);
      }),
    ) / counted.length;
};
lossContract("WebRL's loss in its code", () => webRlSmooth(), { primitive: written({}) });
const everything = { learnFromBad: true, imitate: true };
lossContract("the same with bad actions and imitation", () => webRlSmooth(everything), {
  primitive: written(everything),
});

/** Two tokens of one action, with these means. */
const action = (delta: number, referenceLogprob: number, advantage: number) =>
  makeRow({
    mask_T: Uint8Array.of(0, 1, 1),
    turns: [{ start: 1, end: 3 }],
    logprobs_T: Float32Array.of(0, referenceLogprob + 2 * delta, referenceLogprob),
    referenceLogprobs_T: Float32Array.of(0, referenceLogprob, referenceLogprob),
    advantages_T: Float32Array.of(9, advantage, advantage),
  });

test("the paper's: squared distance of β times the action's log-ratio from its advantage", () => {
  const row = action(0.25, -1, 0.75);
  const { loss, derivatives } = webRlSquared({ beta: 0.5 }).compute([row], totalsOf([row]));
  expect(loss).toBeCloseTo((0.5 * 0.5 - 0.75) ** 2, 6);
  expect(derivatives.logprobs_B_T[0]).toEqual(Float32Array.of(0, -0.5, -0.5));
});

describe("the code's", () => {
  test.each([
    {
      name: "an uncertain good action, β 1",
      delta: 0.25,
      reference: -1,
      advantage: 0.1,
      loss: 0.28125,
      derivative: -0.375,
    },
    {
      name: "a likely good action, β 5 capped at 1/Δ",
      delta: 0.25,
      reference: -0.1,
      advantage: 0.1,
      loss: 0,
      derivative: 0,
    },
    { name: "one that became less likely", delta: -0.5, reference: -1, advantage: 0, loss: 1, derivative: -0.5 },
    { name: "a bad action", delta: 0.25, reference: -1, advantage: -0.1, loss: 0, derivative: 0 },
  ])("$name", ({ delta, reference, advantage, loss, derivative }) => {
    const row = action(delta, reference, advantage);
    const result = webRlSmooth().compute([row], totalsOf([row]));
    expect(result.loss).toBeCloseTo(loss, 6);
    expect(result.derivatives.logprobs_B_T[0][1]).toBeCloseTo(derivative, 6);
  });

  test.each([
    {
      name: "a reference sure of a good action raises β",
      reference: Math.log(0.82),
      advantage: 1,
      loss: 0.025,
      derivative: -0.25,
    },
    { name: "one less sure does not", reference: Math.log(0.78), advantage: 1, loss: 0.405, derivative: -0.45 },
    {
      name: "a reference unsure of a bad action raises β",
      reference: Math.log(0.88),
      advantage: -1,
      loss: 0.12,
      derivative: 0.5,
    },
    { name: "one surer does not", reference: Math.log(0.92), advantage: -1, loss: 0.245, derivative: 0.35 },
  ])("$name", ({ reference, advantage, loss, derivative }) => {
    const row = action(0.1, reference, advantage);
    const result = webRlSmooth({ learnFromBad: true }).compute([row], totalsOf([row]));
    expect(result.loss).toBeCloseTo(loss, 6);
    expect(result.derivatives.logprobs_B_T[0][1]).toBeCloseTo(derivative, 6);
  });

  test("an action as likely as under the reference", () => {
    const row = action(0, -1, 1);
    const { loss, derivatives } = webRlSmooth().compute([row], totalsOf([row]));
    expect(loss).toBe(0.5);
    expect(derivatives.logprobs_B_T[0]).toEqual(Float32Array.of(0, -0.5, -0.5));
  });
});

test("turns that follow each other at once are apart, and metrics are means over turns", () => {
  const row = makeRow({
    turns: [
      { start: 0, end: 2 },
      { start: 2, end: 4 },
    ],
    logprobs_T: Float32Array.of(-0.75, -1, -1, -1.5),
    referenceLogprobs_T: Float32Array.of(-1, -1, -1, -1),
    advantages_T: Float32Array.of(1, 1, -1, -1),
  });
  const totals = totalsOf([row]);
  // log-ratios 0.25 and -0.5, advantages 1 and -1; slopes 2 * (0.25 - 1) and 2 * (-0.5 + 1)
  const squared = webRlSquared({ beta: 1 }).compute([row], totals);
  expect(squared.loss).toBeCloseTo((0.75 ** 2 + 0.5 ** 2) / 2, 6);
  expect(squared.derivatives.logprobs_B_T[0]).toEqual(Float32Array.of(-0.75, -0.75, 0.5, 0.5));
  expect(squared.metrics).toEqual({ "web-rl/log-ratio": -0.125, "web-rl/learned": 1 });
  // the code's leaves the bad action out
  const smooth = webRlSmooth().compute([row], totals);
  expect(smooth.metrics).toEqual({ "web-rl/log-ratio": -0.125, "web-rl/learned": 0.5 });
  expect([...smooth.derivatives.logprobs_B_T[0].slice(2)]).toEqual([0, 0]);
});

test("imitation adds -log π of good actions, weighted exp(1 - p)", () => {
  const row = action(0, -0.5, 1);
  const { loss, derivatives } = webRlSmooth({ imitate: true }).compute([row], totalsOf([row]));
  const weight = Math.exp(1 - Math.exp(-0.5));
  expect(loss).toBeCloseTo(0.5 + 0.5 * weight, 6);
  expect(derivatives.logprobs_B_T[0][1]).toBeCloseTo(-0.5 - weight / 2, 6);
  const bad = action(0, -1, -1);
  const learned = webRlSmooth({ imitate: true, learnFromBad: true }).compute([bad], totalsOf([bad]));
  expect(learned.loss).toBeCloseTo(0.6 ** 2 / 2 / 5, 6);
});
