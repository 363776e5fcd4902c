import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createRng } from "../random.ts";
import { checkpointDifference, perturbCheckpoint } from "./checkpoint-arithmetic.ts";
import type { Derivatives, Engine, ForwardOptions, TokenBatch } from "./engine.ts";

export interface EngineContractOptions {
  /** A fresh engine with a vocabulary of at least 16, a context of 32 to 128 and a value head; the same weights every time. */
  make(): Promise<Engine>;
  /** False for an engine that has no weights: what needs gradients is left out. */
  learns: boolean;
}

const plainGradient = { beta1: 0, beta2: 0, epsilon: 1e9 };

/** The promises of `Engine`. Call it from a test file of each engine. */
export function engineContract(name: string, { make, learns }: EngineContractOptions): void {
  describe(`${name} keeps the engine contract`, () => {
    let engine: Engine;
    let folder: string;
    beforeAll(async () => {
      engine = await make();
      folder = mkdtempSync(join(tmpdir(), "ludus-contract-"));
    });
    afterAll(async () => {
      await engine.close();
      rmSync(folder, { recursive: true, force: true });
    });

    /** Rows of random tokens of mixed lengths, some with masks. */
    function randomBatch(seed: number, lengths: readonly number[]): TokenBatch {
      const rng = createRng(seed);
      return {
        rows: lengths.map((length, b) => {
          const tokens = Array.from({ length }, () => rng.integer(16));
          return b % 2 === 0 ? { tokens } : { tokens, mask: tokens.map(() => (rng.next() < 0.6 ? 1 : 0)) };
        }),
      };
    }

    function randomRows(batch: TokenBatch, seed: number, width = 1): Float32Array[] {
      const rng = createRng(seed);
      return batch.rows.map(({ tokens, mask }) =>
        Float32Array.from({ length: tokens.length * width }, (_, i) =>
          mask === undefined || mask[Math.floor(i / width)] ? rng.normal() : 0,
        ),
      );
    }

    /** The gradient as the difference of two checkpoints: AdamW with a huge epsilon and no memory is plain descent. */
    async function gradientOf(
      target: Engine,
      run: (engine: Engine) => Promise<void>,
    ): Promise<Map<string, Float64Array>> {
      const [before, after] = [join(folder, "before"), join(folder, "after")];
      await target.save(before);
      await run(target);
      await target.step({ learningRate: 1e9, ...plainGradient });
      await target.save(after);
      await target.load(before);
      return checkpointDifference(before, after);
    }

    const backward =
      (batch: TokenBatch, derivatives: Derivatives, options?: ForwardOptions) => async (target: Engine) => {
        await target.backward(await target.forward(batch, options), derivatives);
      };

    function dot(a: ReadonlyMap<string, Float64Array>, b: ReadonlyMap<string, Float64Array>): number {
      let sum = 0;
      for (const [parameter, values] of a) values.forEach((value, i) => (sum += value * b.get(parameter)![i]!));
      return sum;
    }

    function expectClose(
      a: ReadonlyMap<string, Float64Array>,
      b: ReadonlyMap<string, Float64Array>,
      relative: number,
    ): void {
      const difference = new Map(
        [...a].map(([parameter, values]) => [parameter, values.map((value, i) => value - b.get(parameter)![i]!)]),
      );
      expect(Math.sqrt(dot(difference, difference))).toBeLessThan(relative * Math.sqrt(dot(a, a)));
    }

    describe("sampling", () => {
      test.each([0.3, 1, 1.7])("log-probabilities are those of forward at temperature %d", async (temperature) => {
        const prompts = [[1, 2, 3], [4], [5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 1, 2]];
        const samples = await Promise.all(
          prompts.map((tokens, seed) => engine.sample({ tokens, maxTokens: 10, seed, temperature })),
        );
        const rows = samples.map((sample, b) => ({ tokens: [...prompts[b]!, ...sample.tokens] }));
        const { logprobs_B_T } = await engine.forward({ rows }, { temperature });
        samples.forEach((sample, b) => {
          expect(sample.stop).toBe("max-tokens");
          expect([...sample.versions]).toEqual(new Array(10).fill(engine.info.policyVersion));
          sample.logprobs.forEach((logprob, i) =>
            expect(logprob).toBeCloseTo(logprobs_B_T[b]![prompts[b]!.length + i]!, 4),
          );
        });
      });

      test("turns of a rollout go on where the last one ended", async () => {
        const first = await engine.sample({ tokens: [1, 2, 3], maxTokens: 4, seed: 1, rollout: "turns" });
        const tokens = [1, 2, 3, ...first.tokens, 9, 8, 7];
        const kept = await engine.sample({ tokens, maxTokens: 5, seed: 2, rollout: "turns" });
        const fresh = await engine.sample({ tokens, maxTokens: 5, seed: 2 });
        expect(kept.tokens).toEqual(fresh.tokens);
        // another history under the same name is noticed, not mixed up
        const other = [1, 2, 9, 9, 9];
        const changed = await engine.sample({ tokens: other, maxTokens: 5, seed: 3, rollout: "turns" });
        expect(changed.tokens).toEqual((await engine.sample({ tokens: other, maxTokens: 5, seed: 3 })).tokens);
        await engine.release({ rollout: "turns" });
        await engine.release({ rollout: "never heard of" });
      });

      test("the same seed gives the same tokens, whatever else is sampled", async () => {
        const request = { tokens: [3, 1, 4, 1, 5], maxTokens: 12, seed: 26 };
        const alone = await engine.sample(request);
        const others = Array.from({ length: 40 }, (_, i) =>
          engine.sample({
            tokens: Array.from({ length: 1 + (i % 11) }, (_, t) => (t * i) % 16),
            maxTokens: 1 + (i % 13),
            seed: i,
          }),
        );
        const among = await engine.sample(request);
        await Promise.all(others);
        expect(among.tokens).toEqual(alone.tokens);
        const seeds = await Promise.all(Array.from({ length: 8 }, (_, seed) => engine.sample({ ...request, seed })));
        expect(new Set(seeds.map(({ tokens }) => tokens.join())).size).toBeGreaterThan(1);
      });

      test("frequencies follow the distribution", async () => {
        const { alternatives_B_T } = await engine.forward({ rows: [{ tokens: [2, 7, 1, 0] }] }, { alternatives: 1 });
        const likely = alternatives_B_T![0]!.tokens[3]!;
        const probability = Math.exp(alternatives_B_T![0]!.logprobs[3]!);
        const draws = await Promise.all(
          Array.from({ length: 600 }, (_, seed) => engine.sample({ tokens: [2, 7, 1], maxTokens: 1, seed })),
        );
        const share = draws.filter(({ tokens }) => tokens[0] === likely).length / draws.length;
        expect(Math.abs(share - probability)).toBeLessThan(
          4 * Math.sqrt((probability * (1 - probability)) / draws.length),
        );
      });

      test("top-k and top-p draw from the cut distribution and report both log-probabilities", async () => {
        for (const [seed, cut] of [{ topK: 3 }, { topP: 0.4 }, { topK: 5, topP: 0.3 }, { topK: 1 }].entries()) {
          const sample = await engine.sample({ tokens: [1, 2], maxTokens: 8, seed, ...cut, alternatives: 16 });
          sample.tokens.forEach((token, i) => {
            const tokens = sample.alternatives!.tokens.subarray(i * 16, (i + 1) * 16);
            const probabilities = Array.from(sample.alternatives!.logprobs.subarray(i * 16, (i + 1) * 16), Math.exp);
            let kept = 0;
            let total = 0;
            while (kept < (cut.topK ?? 16) && (kept === 0 || total < (cut.topP ?? 1))) total += probabilities[kept++]!;
            expect([...tokens.subarray(0, kept)]).toContain(token);
            expect(sample.cutLogprobs![i]).toBeCloseTo(sample.logprobs[i]! - Math.log(total), 4);
          });
        }
        expect((await engine.sample({ tokens: [1], maxTokens: 1, seed: 0 })).cutLogprobs).toBeUndefined();
      });

      test("temperature 0 takes the most probable token", async () => {
        const greedy = await engine.sample({ tokens: [1, 2], maxTokens: 5, seed: 0, temperature: 0, alternatives: 1 });
        expect([...greedy.tokens]).toEqual([...greedy.alternatives!.tokens]);
        greedy.logprobs.forEach((logprob, i) => expect(logprob).toBeCloseTo(greedy.alternatives!.logprobs[i]!, 5));
      });

      test("ends at stop tokens, at the limit and at the end of the context", async () => {
        const long = await engine.sample({ tokens: [1], maxTokens: 20, seed: 4 });
        const stopping = await engine.sample({ tokens: [1], maxTokens: 20, seed: 4, stopTokens: [long.tokens[6]!] });
        expect(stopping.stop).toBe("stop-token");
        expect([...stopping.tokens]).toEqual([...long.tokens.subarray(0, long.tokens.indexOf(long.tokens[6]!) + 1)]);
        const prompt = new Array(engine.info.contextLength - 3).fill(1);
        const full = await engine.sample({ tokens: prompt, maxTokens: 20, seed: 4 });
        expect([full.stop, full.tokens.length]).toEqual(["context-full", 3]);
      });

      test("an aborted sample is rejected and leaves room for others", async () => {
        const controllers = Array.from({ length: 30 }, () => new AbortController());
        const doomed = controllers.map(({ signal }, seed) =>
          engine.sample({ tokens: [1, seed % 16], maxTokens: engine.info.contextLength, seed }, signal),
        );
        for (const controller of controllers) controller.abort();
        const outcomes = await Promise.allSettled(doomed);
        expect(outcomes.filter(({ status }) => status === "rejected").length).toBeGreaterThan(0);
        expect((await engine.sample({ tokens: [1], maxTokens: 3, seed: 0 })).tokens.length).toBe(3);
        await expect(engine.sample({ tokens: [1], maxTokens: 3, seed: 0 }, AbortSignal.abort())).rejects.toThrow();
      });
    });

    describe("forward", () => {
      const lengths = [5, 17, 2, 9, 17, 30, 3, 12];

      test("rows together give what each gives alone", async () => {
        const batch = randomBatch(1, lengths);
        const together = await engine.forward(batch);
        for (const [b, row] of batch.rows.entries()) {
          const alone = await engine.forward({ rows: [row] });
          together.logprobs_B_T[b]!.forEach((logprob, t) => expect(logprob).toBeCloseTo(alone.logprobs_B_T[0]![t]!, 4));
          together.entropies_B_T[b]!.forEach((entropy, t) =>
            expect(entropy).toBeCloseTo(alone.entropies_B_T[0]![t]!, 4),
          );
          together.values_B_T?.[b]!.forEach((value, t) => expect(value).toBeCloseTo(alone.values_B_T![0]![t]!, 4));
        }
      });

      test("positions outside the mask, and the first, are 0", async () => {
        const { logprobs_B_T, entropies_B_T } = await engine.forward({
          rows: [{ tokens: [1, 2, 3, 4], mask: [1, 0, 1, 0] }],
        });
        expect([...logprobs_B_T[0]!].map((logprob) => logprob !== 0)).toEqual([false, false, true, false]);
        expect([...entropies_B_T[0]!].map((entropy) => entropy !== 0)).toEqual([false, false, true, false]);
      });

      test("candidates and alternatives agree with each other and with the vocabulary", async () => {
        const tokens = [3, 1, 2];
        const count = engine.info.vocabularySize;
        const candidates = { count, tokens: Int32Array.from({ length: count * tokens.length }, (_, i) => i % count) };
        const { candidates_B_T, alternatives_B_T, entropies_B_T, logprobs_B_T } = await engine.forward(
          { rows: [{ tokens, candidates }] },
          { alternatives: 4 },
        );
        const last = candidates_B_T![0]!.subarray(2 * count, 3 * count);
        const probabilities = Array.from(last, Math.exp);
        expect(probabilities.reduce((a, b) => a + b)).toBeCloseTo(1, 4);
        expect(-probabilities.reduce((sum, p, i) => sum + p * last[i]!, 0)).toBeCloseTo(entropies_B_T[0]![2]!, 3);
        expect(last[2]).toBeCloseTo(logprobs_B_T[0]![2]!, 4);
        const sorted = Array.from(last).sort((a, b) => b - a);
        alternatives_B_T![0]!.logprobs
          .subarray(8, 12)
          .forEach((logprob, k) => expect(logprob).toBeCloseTo(sorted[k]!, 4));
      });
    });

    describe("bad input is named and leaves the engine usable", () => {
      const row = { tokens: [1, 2, 3] };
      const cases: [string, string, (engine: Engine) => Promise<unknown>][] = [
        [
          "token above the vocabulary",
          "token-out-of-range",
          (e) => e.forward({ rows: [{ tokens: [1, e.info.vocabularySize] }] }),
        ],
        ["negative token", "token-out-of-range", (e) => e.sample({ tokens: [-1], maxTokens: 1, seed: 0 })],
        ["fractional token", "token-out-of-range", (e) => e.sample({ tokens: [0.5], maxTokens: 1, seed: 0 })],
        [
          "row longer than the context",
          "row-too-long",
          (e) => e.forward({ rows: [{ tokens: new Array(e.info.contextLength + 1).fill(1) }] }),
        ],
        ["row of one token", "row-too-short", (e) => e.forward({ rows: [{ tokens: [1] }] })],
        ["no rows", "empty-batch", (e) => e.forward({ rows: [] })],
        [
          "prompt as long as the context",
          "prompt-too-long",
          (e) => e.sample({ tokens: new Array(e.info.contextLength).fill(1), maxTokens: 1, seed: 0 }),
        ],
        ["empty prompt", "empty-prompt", (e) => e.sample({ tokens: [], maxTokens: 1, seed: 0 })],
        [
          "mask of another length",
          "length-mismatch",
          (e) => e.forward({ rows: [{ tokens: [1, 2, 3], mask: [1, 1] }] }),
        ],
        [
          "derivatives of another length",
          "length-mismatch",
          async (e) => e.backward(await e.forward({ rows: [row] }), { logprobs_B_T: [new Float32Array(2)] }),
        ],
        [
          "derivatives of other rows",
          "length-mismatch",
          async (e) => e.backward(await e.forward({ rows: [row] }), { logprobs_B_T: [] }),
        ],
        [
          "NaN derivative",
          "derivative-not-finite",
          async (e) =>
            e.backward(await e.forward({ rows: [row] }), { logprobs_B_T: [Float32Array.of(0, Number.NaN, 0)] }),
        ],
        ["unknown weights", "unknown-weights", (e) => e.forward({ rows: [row] }, { weights: "nobody" })],
        ["no tokens wanted", "bad-option", (e) => e.sample({ tokens: [1], maxTokens: 0, seed: 0 })],
        ["temperature 0 in forward", "bad-option", (e) => e.forward({ rows: [row] }, { temperature: 0 })],
        ["top-p above 1", "bad-option", (e) => e.sample({ tokens: [1], maxTokens: 1, seed: 0, topP: 1.5 })],
        ["negative learning rate", "bad-option", (e) => e.step({ learningRate: -1 })],
        ["step without a gradient", "no-gradient", (e) => e.step({ learningRate: 1 })],
        [
          "log-probabilities of an older policy",
          "stale-logprobs",
          (e) => e.forward({ rows: [row] }, { sampled: { logprobs_B_T: [new Float32Array(3)], policyVersion: -1 } }),
        ],
        ["snapshot over the policy", "bad-snapshot", (e) => e.snapshot("policy")],
      ];
      test.each(cases)("%s: %s", async (_, code, call) => {
        await expect(call(engine)).rejects.toMatchObject({ code });
        expect((await engine.sample({ tokens: [1, 2], maxTokens: 2, seed: 0 })).tokens.length).toBe(2);
      });

      test("a forward pass serves one backward pass", async () => {
        const other = await make();
        const forward = await other.forward({ rows: [row] });
        await other.backward(forward, { logprobs_B_T: [Float32Array.of(0, 1, 0)] });
        await expect(other.backward(forward, { logprobs_B_T: [Float32Array.of(0, 1, 0)] })).rejects.toMatchObject({
          code: "unknown-forward",
        });
        await other.close();
      });
    });

    describe.runIf(learns)("gradients", () => {
      const batch = () => randomBatch(7, [6, 11, 4, 20]);

      /** Derivative of a scalar along a random direction: from checkpoints moved both ways, and from the gradient. */
      async function checkDirection(
        loss: (batch: TokenBatch) => Promise<number>,
        run: Parameters<typeof gradientOf>[1],
      ): Promise<void> {
        const gradient = await gradientOf(engine, run);
        const [origin, moved] = [join(folder, "origin"), join(folder, "moved")];
        await engine.save(origin);
        const size = 4e-4;
        const direction = perturbCheckpoint(origin, moved, { seed: 5, size });
        await engine.load(moved);
        const up = await loss(batch());
        perturbCheckpoint(origin, moved, { seed: 5, size: -size });
        await engine.load(moved);
        const down = await loss(batch());
        await engine.load(origin);
        const expected = dot(gradient, direction);
        expect(Math.abs((up - down) / (2 * size) - expected)).toBeLessThan(0.02 * Math.abs(expected) + 2e-2);
        expect(Math.abs(expected)).toBeGreaterThan(0.1);
      }

      const sumProducts = (rows: readonly Float32Array[], weights: readonly Float32Array[]) =>
        rows.reduce((sum, row, b) => row.reduce((total, value, t) => total + value * weights[b]![t]!, sum), 0);

      test.each(["logprobs_B_T", "entropies_B_T", "values_B_T"] as const)(
        "of %s match finite differences",
        async (key) => {
          const temperature = 0.8;
          const weights = randomRows(batch(), 3);
          await checkDirection(
            async (rows) => sumProducts((await engine.forward(rows, { temperature }))[key]!, weights),
            backward(batch(), { [key]: weights }, { temperature }),
          );
        },
      );

      test("of candidates match finite differences", async () => {
        const count = 3;
        const rng = createRng(11);
        const rows = {
          rows: batch().rows.map((row) => ({
            ...row,
            candidates: {
              count,
              tokens: Int32Array.from({ length: row.tokens.length * count }, () => rng.integer(16)),
            },
          })),
        };
        const weights = randomRows(rows, 12, count).map((values) => values.map((value, i) => (i < count ? 0 : value)));
        await checkDirection(
          async () => sumProducts((await engine.forward(rows)).candidates_B_T!, weights),
          backward(rows, { candidates_B_T: weights }),
        );
      });

      test("of one batch, of its rows one by one and of parts accumulated are the same", async () => {
        const rows = randomBatch(2, [5, 17, 2, 9, 17, 30, 3, 12]);
        const weights = randomRows(rows, 4);
        const part = (from: number, to: number) =>
          backward(
            { rows: rows.rows.slice(from, to) },
            { logprobs_B_T: weights.slice(from, to), entropies_B_T: weights.slice(from, to) },
          );
        const whole = await gradientOf(engine, part(0, 8));
        const single = await gradientOf(engine, async (target) => {
          for (let b = 0; b < 8; b++) await part(b, b + 1)(target);
        });
        const halves = await gradientOf(engine, async (target) => {
          await part(0, 4)(target);
          await part(4, 8)(target);
        });
        expectClose(whole, single, 1e-4);
        expectClose(whole, halves, 1e-4);
      });

      test("are the same when the log-probabilities come from sampling", async () => {
        const sample = await engine.sample({ tokens: [1, 2, 3], maxTokens: 6, seed: 1 });
        const rows = [{ tokens: [1, 2, 3, ...sample.tokens], mask: [0, 0, 0, 1, 1, 1, 1, 1, 1] }];
        const logprobs_B_T = [Float32Array.of(0, 0, 0, ...sample.logprobs)];
        const derivatives = { logprobs_B_T: [Float32Array.from({ length: 9 }, (_, t) => (t < 3 ? 0 : t - 5.5))] };
        const sampled = { logprobs_B_T, policyVersion: engine.info.policyVersion };
        const known = await engine.forward({ rows }, { sampled });
        expect(known.logprobs_B_T).toEqual(logprobs_B_T);
        expectClose(
          await gradientOf(engine, backward({ rows }, derivatives)),
          await gradientOf(engine, backward({ rows }, derivatives, { sampled })),
          1e-6,
        );
      });

      test("that are not finite change nothing and are reported", async () => {
        const [before, after] = [join(folder, "before-nan"), join(folder, "after-nan")];
        await engine.save(before);
        await backward({ rows: [{ tokens: [1, 2, 3] }] }, { logprobs_B_T: [Float32Array.of(0, 3e38, 3e38)] })(engine);
        const report = await engine.step({ learningRate: 1 });
        expect(report.applied).toBe(false);
        expect(Number.isFinite(report.gradientNorm)).toBe(false);
        await engine.save(after);
        const moved = [...checkpointDifference(before, after).values()].some((values) =>
          values.some((value) => value !== 0),
        );
        expect(moved).toBe(false);
      });

      test("are clipped to a global norm", async () => {
        const derivatives = { logprobs_B_T: randomRows(batch(), 9) };
        const other = await make();
        const full = await gradientOf(other, backward(batch(), derivatives));
        const norm = Math.sqrt(dot(full, full));
        const [before, after] = [join(folder, "before-clip"), join(folder, "after-clip")];
        await other.save(before);
        await backward(batch(), derivatives)(other);
        const report = await other.step({ learningRate: 1e9, ...plainGradient, maxGradientNorm: norm / 4 });
        await other.save(after);
        const clipped = checkpointDifference(before, after);
        expect(report.clipped).toBe(true);
        expect(report.gradientNorm).toBeCloseTo(norm, 2);
        expect(Math.sqrt(dot(clipped, clipped))).toBeCloseTo(norm / 4, 2);
        await other.close();
      });
    });

    describe.runIf(learns)("weights", () => {
      const rows = [{ tokens: [1, 2, 3, 4, 5, 6] }];
      const uphill = { logprobs_B_T: [Float32Array.of(0, -1, -1, -1, -1, -1)] };
      const train = async (target: Engine, weights?: string) => {
        const named = weights === undefined ? {} : { weights };
        await target.backward(await target.forward({ rows }, named), uphill);
        await target.step({ learningRate: 3e-3, weightDecay: 0.01, maxGradientNorm: 1, ...named });
      };
      const likelihood = async (target: Engine, weights = "policy") =>
        (await target.forward({ rows }, { weights })).logprobs_B_T[0]!.reduce((a, b) => a + b);

      test("learn, and only those that are trained", async () => {
        const other = await make();
        await other.snapshot("reference");
        await other.snapshot("opponent", { trainable: true });
        const start = await likelihood(other);
        for (let i = 0; i < 20; i++) await train(other);
        expect(await likelihood(other)).toBeGreaterThan(start + 1);
        expect(await likelihood(other, "reference")).toBe(start);
        expect(await likelihood(other, "opponent")).toBe(start);
        expect(other.info.policyVersion).toBe(20);
        const policy = await likelihood(other);
        for (let i = 0; i < 5; i++) await train(other, "opponent");
        expect(await likelihood(other, "opponent")).toBeGreaterThan(start + 0.2);
        expect(await likelihood(other)).toBe(policy);
        await expect(train(other, "reference")).rejects.toMatchObject({ code: "frozen-weights" });
        const frozen = await other.sample({ tokens: [1, 2], maxTokens: 4, seed: 3, weights: "reference" });
        const fresh = await make();
        expect(frozen.tokens).toEqual((await fresh.sample({ tokens: [1, 2], maxTokens: 4, seed: 3 })).tokens);
        await other.release({ weights: "opponent" });
        expect(other.info.weights).toEqual(["policy", "reference"]);
        await fresh.close();
        await other.close();
      });

      test("changed by a step are used by the next sample of a kept rollout", async () => {
        const other = await make();
        const first = await other.sample({ tokens: [1, 2], maxTokens: 3, seed: 1, rollout: "kept" });
        for (let i = 0; i < 3; i++) await train(other);
        const tokens = [1, 2, ...first.tokens, 3];
        const second = await other.sample({ tokens, maxTokens: 4, seed: 2, rollout: "kept" });
        expect([...second.versions]).toEqual([3, 3, 3, 3]);
        const { logprobs_B_T } = await other.forward({ rows: [{ tokens: [...tokens, ...second.tokens] }] });
        second.logprobs.forEach((logprob, i) => expect(logprob).toBeCloseTo(logprobs_B_T[0]![tokens.length + i]!, 4));
        await other.close();
      });

      test("changed in the middle of a sample: each token carries its version", async () => {
        const other = await make();
        await other.backward(await other.forward({ rows }), uphill);
        const sampling = other.sample({ tokens: [1], maxTokens: other.info.contextLength, seed: 1 });
        await other.step({ learningRate: 1e-3 });
        const { versions } = await sampling;
        expect([...versions]).toEqual([...versions].sort());
        expect(versions.every((version) => version === 0 || version === 1)).toBe(true);
        await other.close();
      });

      test("saved, loaded and trained on are those never stopped, bit for bit", async () => {
        const [middle, straight, resumed] = ["middle", "straight", "resumed"].map((part) => join(folder, part)) as [
          string,
          string,
          string,
        ];
        const one = await make();
        await one.snapshot("reference");
        for (let i = 0; i < 3; i++) await train(one);
        await one.save(middle);
        for (let i = 0; i < 3; i++) await train(one);
        await one.save(straight);
        const two = await make();
        await two.load(middle);
        expect(two.info.policyVersion).toBe(3);
        expect(two.info.weights).toEqual(["policy", "reference"]);
        for (let i = 0; i < 3; i++) await train(two);
        await two.save(resumed);
        const files = readdirSync(straight).sort();
        expect(readdirSync(resumed).sort()).toEqual(files);
        for (const file of files)
          expect(readFileSync(join(resumed, file)).equals(readFileSync(join(straight, file))), file).toBe(true);
        await one.close();
        await two.close();
      });

      test("are not saved with half a step", async () => {
        const other = await make();
        await other.backward(await other.forward({ rows }), uphill);
        await expect(other.save(join(folder, "half"))).rejects.toMatchObject({ code: "gradient-pending" });
        await other.close();
      });
    });
  });
}
