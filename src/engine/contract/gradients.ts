import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createRng } from "../../random.ts";
import type { TokenBatch } from "../engine.ts";
import { checkpointDifference, perturbCheckpoint } from "./checkpoint-arithmetic.ts";
import {
  backward,
  type ContractContext,
  dot,
  effectOf,
  expectClose,
  plainGradient,
  randomBatch,
  randomRows,
} from "./context.ts";

export function gradientContract(context: ContractContext): void {
  describe("gradients", () => {
    const batch = () => randomBatch(7, [6, 11, 4, 20]);

    type Run = Parameters<ContractContext["gradientOf"]>[1];
    type Skip = (note: string) => never;

    async function checkGradient(loss: (batch: TokenBatch) => Promise<number>, run: Run, skip: Skip): Promise<void> {
      const gradient = await context.gradientOf(context.engine, run);
      if (context.precision === "float32") return await checkDirection(loss, gradient);
      const exact = await context.exact();
      if (exact === undefined) skip("in bfloat16 finite differences are lost in rounding; makeExact was not given");
      expectClose(await context.gradientOf(exact, run), gradient, 5e-2);
    }

    /** Derivative of a scalar along a random direction: from checkpoints moved both ways, and from the gradient. */
    async function checkDirection(
      loss: (batch: TokenBatch) => Promise<number>,
      gradient: ReadonlyMap<string, Float64Array>,
    ): Promise<void> {
      const [origin, moved] = [join(context.folder, "origin"), join(context.folder, "moved")];
      await context.engine.save(origin);
      const size = 4e-4;
      const direction = perturbCheckpoint(origin, moved, { seed: 5, size });
      await context.engine.load(moved);
      const up = await loss(batch());
      perturbCheckpoint(origin, moved, { seed: 5, size: -size });
      await context.engine.load(moved);
      const down = await loss(batch());
      await context.engine.load(origin);
      const expected = dot(gradient, direction);
      expect(Math.abs((up - down) / (2 * size) - expected)).toBeLessThan(0.02 * Math.abs(expected) + 2e-2);
      expect(Math.abs(expected)).toBeGreaterThan(0.1);
    }

    /** A gradient, or what it does where it cannot be looked at. */
    const seen = (run: Run) =>
      context.lacks("weight-files")
        ? effectOf(context, run, { of: randomBatch(13, [8, 12]), size: 1e-3 })
        : context.gradientOf(context.engine, run);

    test("of one loss change another as much as that other's change the one", async ({ skip }) => {
      context.needsFloat32(skip, "so small a step is lost in rounding");
      const ofFirst = randomRows(batch(), 3);
      const other = randomBatch(17, [9, 14, 5]);
      const ofOther = randomRows(other, 19);
      const size = 1e-4;
      const first = await effectOf(context, backward(batch(), { logprobs_B_T: ofFirst }), { of: other, size });
      const second = await effectOf(context, backward(other, { logprobs_B_T: ofOther }), { of: batch(), size });
      const inner = (effect: Map<string, Float64Array>, rows: readonly Float32Array[]) => {
        const flat = rows.flatMap((row) => [...row]);
        return effect.get("logprobs")!.reduce((sum, value, i) => sum + value * flat[i], 0);
      };
      const [there, back] = [inner(first, ofOther), inner(second, ofFirst)];
      const self = await effectOf(context, backward(batch(), { logprobs_B_T: ofFirst }), { of: batch(), size });
      const own = inner(self, ofFirst);
      // descent: a loss falls along its own gradient
      expect(own).toBeLessThan(-0.1);
      expect(Math.abs(there - back)).toBeLessThan(0.05 * Math.max(Math.abs(there), Math.abs(back)) + 0.02 * -own);
    });

    const sumProducts = (rows: readonly Float32Array[], weights: readonly Float32Array[]) =>
      rows.reduce((sum, row, b) => row.reduce((total, value, t) => total + value * weights[b][t], sum), 0);

    const reference = context.precision === "float32" ? "finite differences" : "those in float32";

    test.for(["logprobs_B_T", "entropies_B_T", "values_B_T"] as const)(
      `of %s match ${reference}`,
      async (key, { skip }) => {
        context.needs(skip, "weight-files", "temperatures");
        const temperature = 0.8;
        const weights = randomRows(batch(), 3);
        await checkGradient(
          async (rows) => sumProducts((await context.engine.forward(rows, { temperature }))[key]!, weights),
          backward(batch(), { [key]: weights }, { temperature }),
          skip,
        );
      },
    );

    test(`of candidates match ${reference}`, async ({ skip }) => {
      context.needs(skip, "weight-files", "candidates");
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
      await checkGradient(
        async () => sumProducts((await context.engine.forward(rows)).candidates_B_T!, weights),
        backward(rows, { candidates_B_T: weights }),
        skip,
      );
    });

    test("of one batch, of its rows one by one and of parts accumulated are the same", async () => {
      const rows = randomBatch(2, [5, 17, 2, 9, 17, 30, 3, 12]);
      const weights = randomRows(rows, 4);
      const part = (from: number, to: number) =>
        backward(
          { rows: rows.rows.slice(from, to) },
          {
            logprobs_B_T: weights.slice(from, to),
            ...(context.lacks("entropies") ? {} : { entropies_B_T: weights.slice(from, to) }),
          },
        );
      const whole = await seen(part(0, 8));
      const single = await seen(async (target) => {
        for (let b = 0; b < 8; b++) await part(b, b + 1)(target);
      });
      const halves = await seen(async (target) => {
        await part(0, 4)(target);
        await part(4, 8)(target);
      });
      const tolerance = context.precision === "float32" ? 1e-4 : 3e-2;
      expect(Math.sqrt(dot(whole, whole))).toBeGreaterThan(0.1);
      expectClose(whole, single, tolerance);
      expectClose(whole, halves, tolerance);
    });

    test("are the same when the log-probabilities come from sampling", async () => {
      const sample = await context.engine.sample({ tokens: [1, 2, 3], maxTokens: 6, seed: 1 });
      const rows = [{ tokens: [1, 2, 3, ...sample.tokens], mask: [0, 0, 0, 1, 1, 1, 1, 1, 1] }];
      const logprobs_B_T = [Float32Array.of(0, 0, 0, ...sample.logprobs)];
      const derivatives = { logprobs_B_T: [Float32Array.from({ length: 9 }, (_, t) => (t < 3 ? 0 : t - 5.5))] };
      const sampled = { logprobs_B_T, policyVersion: context.engine.info.policyVersion };
      const known = await context.engine.forward({ rows }, { sampled });
      expect(known.logprobs_B_T).toEqual(logprobs_B_T);
      expectClose(
        await seen(backward({ rows }, derivatives)),
        await seen(backward({ rows }, derivatives, { sampled })),
        context.lacks("weight-files") ? 1e-3 : 1e-6,
      );
    });

    test("that are not finite change nothing and are reported", async ({ skip }) => {
      context.needs(skip, "gradient-norm");
      const [before, after] = [join(context.folder, "before-nan"), join(context.folder, "after-nan")];
      await context.engine.save(before);
      await backward(
        { rows: [{ tokens: [1, 2, 3] }] },
        { logprobs_B_T: [Float32Array.of(0, 3e38, 3e38)] },
      )(context.engine);
      const report = await context.engine.step({ learningRate: 1 });
      expect(report.applied).toBe(false);
      expect(Number.isFinite(report.gradientNorm!)).toBe(false);
      await context.engine.save(after);
      const moved = [...checkpointDifference(before, after).values()].some((values) =>
        values.some((value) => value !== 0),
      );
      expect(moved).toBe(false);
    });

    test("are clipped to a global norm", async ({ skip }) => {
      context.needs(skip, "gradient-norm");
      const derivatives = { logprobs_B_T: randomRows(batch(), 9) };
      const other = await context.make();
      const full = await context.gradientOf(other, backward(batch(), derivatives));
      const norm = Math.sqrt(dot(full, full));
      const [before, after] = [join(context.folder, "before-clip"), join(context.folder, "after-clip")];
      await other.save(before);
      await backward(batch(), derivatives)(other);
      const report = await other.step({ ...plainGradient, maxGradientNorm: norm / 4 });
      await other.save(after);
      const clipped = checkpointDifference(before, after);
      expect(report.clipped).toBe(true);
      expect(report.gradientNorm).toBeCloseTo(norm, 2);
      expect(Math.sqrt(dot(clipped, clipped))).toBeCloseTo(norm / 4, 2);
      await other.close();
    });
  });
}
