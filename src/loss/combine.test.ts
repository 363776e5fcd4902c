import { expect, test } from "vitest";
import { createRng } from "../random.ts";
import { addMetrics, scaleLoss, sumLosses } from "./combine.ts";
import { randomRows } from "./contract/random-rows.ts";
import { dpoLoss } from "./dpo-loss.ts";
import { entropyBonus } from "./entropy-bonus.ts";
import { klPenalty } from "./kl.ts";
import { lossContract } from "./loss.contract.ts";
import { ppoClip } from "./ppo-clip.ts";
import { totalsOf } from "./totals.ts";
import { valueLoss } from "./value-loss.ts";

const parts = () => [
  ppoClip(),
  klPenalty({ coefficient: 0.04 }),
  scaleLoss(valueLoss(), 0.5),
  entropyBonus({ coefficient: 0.01 }),
];
lossContract("a sum of losses", () => sumLosses(parts()));
lossContract("a loss times 3", () => scaleLoss(ppoClip(), 3));
lossContract("a sum with pairs", () => sumLosses([dpoLoss(), ppoClip()]));

test("a sum needs what its parts need, and says what each contributed", () => {
  const rows = randomRows(createRng(1));
  const loss = sumLosses(parts());
  expect(loss.name).toBe("ppo-clip+kl-penalty+value-loss+entropy-bonus");
  expect(loss.needs).toEqual({ entropies: true, values: true, reference: true, pairs: false });
  const { loss: value, metrics, maxima } = loss.compute(rows, totalsOf(rows));
  const contributions = parts().map((part) => part.compute(rows, totalsOf(rows)).loss);
  expect(value).toBeCloseTo(
    contributions.reduce((sum, each) => sum + each, 0),
    12,
  );
  expect(metrics["loss/value-loss"]).toBeCloseTo(contributions[2], 12);
  expect(maxima).toHaveProperty("policy/ratio-max");
});

test("scaling leaves the loss it was made of alone", () => {
  const rows = randomRows(createRng(1));
  const plain = ppoClip().compute(rows, totalsOf(rows));
  const scaled = scaleLoss(ppoClip(), 2).compute(rows, totalsOf(rows));
  expect(scaled.loss).toBe(2 * plain.loss);
  expect(scaled.metrics).toEqual(plain.metrics);
  expect(scaled.derivatives.logprobs_B_T[0]).toEqual(plain.derivatives.logprobs_B_T[0].map((x) => 2 * x));
});

test("two losses of one name would hide each other's metrics", () => {
  expect(() => sumLosses([ppoClip(), ppoClip()])).toThrow("bad-loss-option: got [ppo-clip, ppo-clip]");
  expect(() => sumLosses([])).toThrow("bad-loss-option");
});

test("metrics of parts add up, greatest values excepted", () => {
  expect(
    addMetrics([
      { metrics: { "a/mean": 1 }, maxima: { "a/ratio": -3 } },
      { metrics: { "a/mean": 2, b: 1 }, maxima: { "a/ratio": -4 } },
    ]),
  ).toEqual({
    "a/mean": 3,
    "a/ratio": -3,
    b: 1,
  });
});

test("scaling scales every kind of derivative", () => {
  const rows = randomRows(createRng(1));
  for (const [loss, kind] of [
    [valueLoss(), "values_B_T"],
    [entropyBonus({ coefficient: 1 }), "entropies_B_T"],
  ] as const) {
    const plain = loss.compute(rows, totalsOf(rows)).derivatives;
    const scaled = scaleLoss(loss, 2).compute(rows, totalsOf(rows)).derivatives;
    expect(scaled[kind]).toEqual(plain[kind]!.map((array_T) => array_T.map((x) => 2 * x)));
    expect(Object.keys(scaled)).toEqual(Object.keys(plain));
  }
});

test("derivatives of a sum are those of its parts, added up", () => {
  const rows = randomRows(createRng(2));
  const [one, two] = [ppoClip(), klPenalty({ coefficient: 0.5 })];
  const of = (loss: typeof one) => loss.compute(rows, totalsOf(rows)).derivatives;
  const sum = of(sumLosses([one, two]));
  expect(sum.logprobs_B_T).toEqual(
    of(one).logprobs_B_T.map((array_T, b) => array_T.map((x, t) => x + of(two).logprobs_B_T[b][t])),
  );
  expect(Object.keys(sum)).toEqual(["logprobs_B_T"]);
});
