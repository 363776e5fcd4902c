import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkpointDifference } from "../contract/checkpoint-arithmetic.ts";
import { backward, plainGradient, randomBatch, randomRows } from "../contract/context.ts";
import type { Engine } from "../engine.ts";
import { tiny } from "../model/model-config.ts";
import { torch } from "./torch.ts";

const model = tiny({
  vocabularySize: 40,
  family: "qwen2",
  width: 24,
  heads: 3,
  headWidth: 8,
  keyValueHeads: 1,
  layers: 3,
  contextLength: 64,
  initializerRange: 0.15,
});

const worst = (differences: ReadonlyMap<string, Float64Array>) =>
  Math.max(...[...differences.values()].map((values) => values.reduce((most, v) => Math.max(most, Math.abs(v)), 0)));

describe.runIf(process.env.LUDUS_PYTHON)("two processes give what one gives", () => {
  let folder: string;
  let engines: [Engine, Engine];
  const at = (name: string) => join(folder, name);
  const lengths = [6, 31, 4, 20, 60, 9, 9];
  const batch = randomBatch(7, lengths);
  const derivatives = { logprobs_B_T: randomRows(batch, 1), values_B_T: randomRows(batch, 3) };
  const both = <Result>(call: (engine: Engine, i: number) => Promise<Result>) => Promise.all(engines.map(call));

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "ludus-processes-"));
    // few tokens to a pass, so that there are several, and not as many for each process
    const options = { model, valueHead: true, seed: 5, threads: 1, device: "cpu", microBatchTokens: 48, log: () => {} };
    engines = [await torch(options), await torch({ ...options, processes: 2 })];
  });
  afterAll(async () => {
    await both((engine) => engine.close());
    rmSync(folder, { recursive: true });
  });

  test("log-probabilities, entropies, values and alternatives", async () => {
    const [one, two] = await both((engine) => engine.forward(batch, { temperature: 0.7, alternatives: 2 }));
    for (const key of ["logprobs_B_T", "entropies_B_T", "values_B_T"] as const) {
      one[key]!.forEach((row, b) => {
        for (const [t, value] of row.entries()) expect(Math.abs(two[key]![b][t] - value)).toBeLessThan(1e-5);
      });
    }
    one.alternatives_B_T!.forEach(({ tokens }, b) => {
      expect(two.alternatives_B_T![b].tokens).toEqual(tokens);
    });
    expect(engines[1].info.device).toContain("2 processes");
  });

  test("gradients, and a step of AdamW", async () => {
    const rates = [plainGradient, { learningRate: 1e-3, weightDecay: 0.1, maxGradientNorm: 1 }];
    for (const [step, options] of rates.entries()) {
      const reports = await both(async (engine, i) => {
        await engine.save(at(`start-${i}`));
        await backward(batch, derivatives)(engine);
        const report = await engine.step(options);
        await engine.save(at(`${step}-${i}`));
        if (step === 0) await engine.load(at(`start-${i}`));
        return report;
      });
      expect(reports[1].gradientNorm! / reports[0].gradientNorm!).toBeCloseTo(1, 5);
      const scale = step === 0 ? worst(checkpointDifference(at("start-0"), at("0-0"))) : 1;
      expect(worst(checkpointDifference(at(`${step}-0`), at(`${step}-1`)))).toBeLessThan(1e-5 * scale);
    }
  });

  test("a forward pass right after a load sees what was loaded", async () => {
    await both((engine, i) => engine.save(at(`now-${i}`)));
    const first = await both((engine) => engine.forward(batch));
    await both((engine, i) => engine.load(at(`start-${i}`)));
    const [one, two] = await both((engine) => engine.forward(batch));
    expect(two.logprobs_B_T[0][3]).toBeCloseTo(one.logprobs_B_T[0][3], 5);
    expect(two.logprobs_B_T[0][3]).not.toBeCloseTo(first[1].logprobs_B_T[0][3], 5);
    await both((engine, i) => engine.load(at(`now-${i}`)));
  });

  test("samples, from whichever process they come, also after a step and from a snapshot", async () => {
    await both((engine) => engine.snapshot("reference"));
    await both(async (engine) => {
      await backward(batch, derivatives)(engine);
      await engine.step({ learningRate: 1e-2 });
    });
    const requests = Array.from({ length: 6 }, (_, seed) => ({
      tokens: [seed, 2, 3],
      maxTokens: 8,
      seed,
      ...(seed > 3 ? { weights: "reference" } : { rollout: `rollout ${seed}` }),
    }));
    const [one, two] = await both((engine) => Promise.all(requests.map((request) => engine.sample(request))));
    expect(two.map(({ tokens }) => [...tokens])).toEqual(one.map(({ tokens }) => [...tokens]));
    await both((engine) => engine.release({ rollout: "rollout 1", weights: "reference" }));
    expect(engines[1].info.weights).toEqual(["policy"]);
  });

  test("what is refused is refused by both, and both go on", async () => {
    await expect(engines[1].step({ learningRate: 1 })).rejects.toMatchObject({ code: "no-gradient" });
    await expect(engines[1].snapshot("policy")).rejects.toMatchObject({ code: "bad-snapshot" });
    await engines[0].save(at("by-one"));
    await engines[1].load(at("by-one"));
    expect((await engines[1].sample({ tokens: [1], maxTokens: 2, seed: 1 })).tokens.length).toBe(2);
  });
});
