import { describe, expect, test } from "vitest";
import { defined } from "../../defined.ts";
import { delegate } from "../../engine/delegate.ts";
import type { Engine, ForwardOptions, TokenBatch } from "../../engine/engine.ts";
import { type FakeEngine, fakeEngine } from "../../engine/fake-engine.ts";
import { sumLosses } from "../../loss/combine.ts";
import { entropyBonus } from "../../loss/entropy-bonus.ts";
import { imitation } from "../../loss/imitation.ts";
import type { Loss } from "../../loss/loss.ts";
import { ppoClip } from "../../loss/ppo-clip.ts";
import { valueLoss } from "../../loss/value-loss.ts";
import type { Critic } from "../algorithm.ts";
import { learnRow } from "../fixtures/learn-row.ts";
import type { LearnRow } from "../learn-row.ts";
import { update } from "./update.ts";

/** Remembers what was forwarded and stepped, besides what the fake remembers. */
function spied(engine: FakeEngine) {
  const forwards: { batch: TokenBatch; options: ForwardOptions }[] = [];
  const steps: string[] = [];
  const wrapped = delegate(engine, {
    forward(batch, options = {}) {
      forwards.push({ batch, options });
      return engine.forward(batch, options);
    },
    step(options) {
      steps.push(options.weights ?? "policy");
      return engine.step(options);
    },
  });
  return { engine: wrapped, forwards, steps, backwards: engine.backwards };
}

/** After any token: 0 with probability 0.5, or 0.8 once it was updated. */
const drifting = (options: { value?: (tokens: readonly number[]) => number } = {}) =>
  spied(fakeEngine({ vocabularySize: 2, distribution: (_, version) => (version === 0 ? [1, 1] : [4, 1]), ...options }));

const ln = Math.log;
const old = Float32Array.of(0, ln(0.5), ln(0.5));
const good = learnRow({
  id: "good",
  tokens_T: Int32Array.of(1, 0, 0),
  oldLogprobs_T: old,
  advantages_T: Float32Array.of(0, 2, 2),
});
const bad = learnRow({
  id: "bad",
  tokens_T: Int32Array.of(1, 1, 0),
  oldLogprobs_T: old,
  mask_T: Uint8Array.of(0, 1, 0),
  advantages_T: Float32Array.of(0, -1, 0),
});

interface Run {
  readonly rows: readonly LearnRow[];
  readonly loss?: Loss;
  readonly epochs?: number;
  readonly miniBatches?: number;
  readonly critic?: Critic;
  readonly step?: number;
  readonly policyVersion?: number;
}

function run(engine: Engine, { rows, loss = ppoClip(), epochs = 1, miniBatches = 1, critic, step = 0, ...rest }: Run) {
  const optimizer = { learningRate: 0.1, weightDecay: 0, beta2: 0.99, maxGradientNorm: 1 };
  const algorithm = { loss, epochs, miniBatches, optimizer, ...defined({ critic }) };
  const context = { policy: { engine }, algorithm, learningStep: step, progress: 0, seed: 0 };
  return update(context, { rows, metrics: {}, policyVersion: 0, ...rest });
}

describe("derivatives are those of a computation by hand", () => {
  test("of PPO on the first update: -A / tokens", async () => {
    const { engine, backwards } = drifting();
    const metrics = await run(engine, { rows: [good, bad] });
    // three sampled tokens, ratio 1: -2/3, -2/3 and 1/3
    const [first] = backwards;
    expect(first.derivatives.logprobs_B_T![0]).toEqual(Float32Array.of(0, -2 / 3, -2 / 3));
    expect(first.derivatives.logprobs_B_T![1]).toEqual(Float32Array.of(0, 1 / 3, 0));
    expect(metrics["update/loss"]).toBeCloseTo(-(2 + 2 - 1) / 3, 6);
    expect(metrics["update/unsampled-share"]).toBe(0);
  });

  test("of PPO on the second: ratios against the policy the update began with, clipped", async () => {
    const { engine, backwards } = drifting();
    const metrics = await run(engine, { rows: [good, bad], epochs: 2 });
    // now p(0) = 0.8, ratio 1.6, beyond 1.2 with a positive advantage; p(1) = 0.2, ratio 0.4, below 0.8 with a negative one
    expect(backwards).toHaveLength(1);
    expect(metrics["policy/clip-high"]).toBeCloseTo(2 / 3 / 2, 6);
    expect(metrics["policy/clip-low"]).toBeCloseTo(1 / 3 / 2, 6);
    expect(metrics["update/skipped"]).toBe(0.5);
  });

  test("the same without clipping", async () => {
    const { engine, backwards } = drifting();
    await run(engine, { rows: [good, bad], epochs: 2, loss: ppoClip({ clipLow: 10, clipHigh: 10 }) });
    expect(backwards[1].derivatives.logprobs_B_T![0][1]).toBeCloseTo((-2 / 3) * 1.6, 5);
    expect(backwards[1].derivatives.logprobs_B_T![1][1]).toBeCloseTo((1 / 3) * 0.4, 5);
  });
});

describe("old log-probabilities stand in for a forward pass", () => {
  const known = ({ options }: { options: ForwardOptions }) => options.sampled !== undefined;

  test("until the policy has moved on, in one part of several", async () => {
    const { engine, forwards } = drifting();
    await run(engine, { rows: [good, bad], miniBatches: 2, epochs: 2 });
    expect(forwards.map(known)).toEqual([true, false, false, false]);
  });

  test("not where entropies are wanted", async () => {
    const { engine, forwards } = drifting();
    await run(engine, { rows: [good], loss: sumLosses([ppoClip(), entropyBonus({ coefficient: 0.1 })]) });
    expect(forwards.map(known)).toEqual([false]);
  });

  test("not where they are of another version, or of no policy at all", async () => {
    const { engine, forwards } = drifting();
    await run(engine, { rows: [good], policyVersion: 7 });
    const optimizer = { learningRate: 0.1, weightDecay: 0, beta2: 0.99, maxGradientNorm: 1 };
    const algorithm = { loss: ppoClip(), epochs: 1, miniBatches: 1, optimizer };
    const context = { policy: { engine }, algorithm, learningStep: 0, progress: 0, seed: 0 };
    await update(context, { rows: [good], metrics: {} });
    expect(forwards.map(known)).toEqual([false, false]);
  });
});

describe("a loss with fixed derivatives", () => {
  const many = Array.from({ length: 32 }, (_, i) => ({ ...good, id: `${i}`, rollout: `${i}` }));
  const slow: Loss = { ...imitation(), hasFixedDerivatives: false };

  test("has no forward pass but one of a few rows, for the metrics", async () => {
    const { engine, forwards } = drifting();
    const metrics = await run(engine, { rows: many, policyVersion: 3, loss: imitation() });
    expect(forwards.map(({ batch, options }) => [batch.rows.length, options.sampled !== undefined])).toEqual([
      [32, true],
      [8, false],
    ]);
    expect(metrics["update/loss"]).toBeCloseTo(ln(2), 6);
    expect(metrics["imitation/nll"]).toBeCloseTo(ln(2), 6);
  });

  test("learns what it learns with a forward pass of all", async () => {
    const [fast, whole] = [drifting(), drifting()];
    await run(fast.engine, { rows: many, policyVersion: 3, loss: imitation() });
    await run(whole.engine, { rows: many, policyVersion: 3, loss: slow });
    expect(fast.backwards.map(({ derivatives }) => derivatives)).toEqual(
      whole.backwards.map(({ derivatives }) => derivatives),
    );
    expect(fast.backwards[0].derivatives.logprobs_B_T![31]).toEqual(Float32Array.of(0, -1 / 64, -1 / 64));
  });

  test("computes all rows of a small batch, and those of other weights", async () => {
    const small = drifting();
    await run(small.engine, { rows: many.slice(0, 8), policyVersion: 3, loss: imitation() });
    expect(small.forwards.map(({ options }) => options.sampled !== undefined)).toEqual([false]);
    const other = drifting();
    await other.engine.snapshot("other", { trainable: true });
    const rows = many.map((row) => ({ ...row, weights: "other" }));
    await run(other.engine, { rows, policyVersion: 3, loss: imitation() });
    expect(other.forwards.map(({ batch }) => batch.rows.length)).toEqual([32]);
  });
});

describe("rows of several kinds in one batch", () => {
  test("each temperature has a forward pass of its own, all of them one step", async () => {
    const { engine, forwards, backwards, steps } = drifting();
    const cold = { ...good, id: "cold", rollout: "cold", temperature: 0.5 };
    const wide = ppoClip({ clipLow: 100, clipHigh: 100 });
    await run(engine, { rows: [good, cold, bad], policyVersion: 3, loss: wide });
    expect(forwards.map(({ options }) => options.temperature)).toEqual([1, 0.5]);
    expect(forwards.map(({ batch }) => batch.rows.length)).toEqual([2, 1]);
    expect(steps).toEqual(["policy"]);
    // all have their share of the same five tokens
    expect(backwards[0].derivatives.logprobs_B_T![1][1]).toBeCloseTo(1 / 5, 6);
    expect(backwards[1].derivatives.logprobs_B_T![0][1]).toBeCloseTo(-2 / 5, 6);
  });

  test("each set of weights learns from its own rows, in its own steps", async () => {
    const spy = drifting();
    await spy.engine.snapshot("other", { trainable: true });
    const metrics = await run(spy.engine, { rows: [good, { ...bad, weights: "other" }] });
    expect(spy.steps).toEqual(["policy", "other"]);
    expect(spy.forwards.map(({ options }) => options.weights)).toEqual(["policy", "other"]);
    // denominators are those of each set
    expect(spy.backwards[0].derivatives.logprobs_B_T![0][1]).toBeCloseTo(-2 / 2, 6);
    expect(spy.backwards[1].derivatives.logprobs_B_T![0][1]).toBeCloseTo(1, 6);
    expect(metrics["update/loss"]).toBeCloseTo(-2, 6);
    expect(metrics["update/loss/other"]).toBeCloseTo(1, 6);
  });
});

describe("nothing to learn", () => {
  const flat = { ...good, advantages_T: new Float32Array(3) };

  test("no row, or none with a token: no step", async () => {
    const { engine, steps } = drifting();
    expect(await run(engine, { rows: [] })).toEqual({ "update/skipped": 1 });
    expect(await run(engine, { rows: [{ ...good, mask_T: new Uint8Array(3) }] })).toEqual({ "update/skipped": 1 });
    expect(steps).toEqual([]);
  });

  test("derivatives that are all 0: no step either", async () => {
    const { engine, steps, backwards } = drifting();
    const metrics = await run(engine, { rows: [flat] });
    expect(metrics["update/skipped"]).toBe(1);
    expect([steps, backwards]).toEqual([[], []]);
  });

  test("rows without advantage take part in means, but in no forward pass", async () => {
    const { engine, forwards, backwards } = drifting();
    await run(engine, { rows: [good, flat], policyVersion: 3 });
    expect(forwards.map(({ batch }) => batch.rows.length)).toEqual([1]);
    expect(backwards[0].derivatives.logprobs_B_T![0][1]).toBeCloseTo(-2 / 4, 6);
  });

  test("a loss that has something to say about them gets its forward pass", async () => {
    const trust: Loss = {
      name: "trust",
      needs: {},
      compute: (rows) => ({
        loss: 0,
        metrics: {},
        derivatives: {
          logprobs_B_T: rows.map((row) => row.logprobs_T.map((logprob, t) => logprob - row.oldLogprobs_T[t])),
        },
      }),
    };
    for (const loss of [imitation(), trust, sumLosses([ppoClip(), entropyBonus({ coefficient: 0.1 })])]) {
      const { engine, forwards } = drifting();
      await run(engine, { rows: [flat], policyVersion: 3, loss });
      expect(forwards).toHaveLength(1);
    }
  });
});

test("metrics are means over the parts that have them", async () => {
  const { engine } = drifting();
  const metrics = await run(engine, { rows: [good, { ...good, id: "b", rollout: "b" }], miniBatches: 2 });
  // the first part made no forward pass and knows no entropies: it must not count as 0
  const entropy = -(0.8 * ln(0.8) + 0.2 * ln(0.2));
  expect(metrics["policy/entropy"]).toBeCloseTo(entropy, 5);
});

describe("a separate critic", () => {
  const critic: Critic = { kind: "separate", learningRate: 0.1, pretrainSteps: 1 };
  const loss = sumLosses([ppoClip(), valueLoss({ clipRange: Number.POSITIVE_INFINITY })]);
  const row = { ...good, returns_T: Float32Array.of(0, 1, 1), oldValues_T: new Float32Array(3) };

  test("learns alone while it is pretrained, and beside the policy after that", async () => {
    const spy = drifting({ value: () => 0.25 });
    await spy.engine.snapshot("critic", { trainable: true });
    await run(spy.engine, { rows: [row], loss, critic, step: 0 });
    expect(spy.steps).toEqual(["critic"]);
    // (v - R) / tokens
    expect(spy.backwards[0].derivatives).toEqual({ values_B_T: [Float32Array.of(0, -0.375, -0.375)] });
    await run(spy.engine, { rows: [row], loss, critic, step: 1 });
    expect(spy.steps).toEqual(["critic", "policy", "critic"]);
    expect(spy.backwards[1].derivatives).toEqual({ logprobs_B_T: [Float32Array.of(0, -1, -1)] });
  });
});

test("passes with other weights are asked for before the first one is done", async () => {
  const { engine } = drifting({ value: () => 0.5 });
  await engine.snapshot("critic", { trainable: true });
  const asked: string[] = [];
  let ask = (_: unknown) => {};
  const both = new Promise((resolve) => {
    ask = resolve;
  });
  const waiting = delegate(engine, {
    async forward(batch, options = {}) {
      asked.push(options.weights ?? "policy");
      if (asked.length === 2) ask(undefined);
      await both;
      return await engine.forward(batch, options);
    },
  });
  const critic: Critic = { kind: "separate", learningRate: 0.1, pretrainSteps: 0 };
  await run(waiting, {
    rows: [{ ...good, returns_T: Float32Array.of(0, 1, 1), oldValues_T: new Float32Array(3) }],
    loss: sumLosses([ppoClip(), valueLoss()]),
    critic,
  });
  expect(asked).toEqual(["policy", "critic"]);
});
