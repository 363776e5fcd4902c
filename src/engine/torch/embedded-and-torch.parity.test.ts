import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { byteTokenizer } from "../../policy/byte-tokenizer.ts";
import { checkpointDifference } from "../contract/checkpoint-arithmetic.ts";
import { backward, dot, expectClose, plainGradient, randomBatch, randomRows } from "../contract/context.ts";
import { embedded } from "../embedded/embedded.ts";
import type { Engine } from "../engine.ts";
import { type ModelConfig, tiny } from "../model/model-config.ts";
import { torch } from "./torch.ts";

const tokenizer = byteTokenizer();
const shape = {
  vocabularySize: tokenizer.vocabularySize,
  width: 48,
  headWidth: 8,
  heads: 6,
  keyValueHeads: 2,
  layers: 2,
  contextLength: 96,
  initializerRange: 0.1,
};
const models: [string, ModelConfig][] = [
  ["llama, tied, llama3 rope", tiny({ ...shape, rope: llama3Rope() })],
  ["qwen2, untied", tiny({ ...shape, family: "qwen2", tiedEmbeddings: false })],
  ["qwen3, tied, yarn rope", tiny({ ...shape, family: "qwen3", rope: yarnRope() })],
];

function llama3Rope(): ModelConfig["rope"] {
  const factors = { factor: 8, lowFrequencyFactor: 1, highFrequencyFactor: 4 };
  return { type: "llama3", theta: 10000, ...factors, originalContextLength: 32 };
}

function yarnRope(): ModelConfig["rope"] {
  const limits = { betaFast: 32, betaSlow: 1, truncate: true };
  return { type: "yarn", theta: 10000, factor: 3, originalContextLength: 32, attentionFactor: 1.1, ...limits };
}

const largestDifference = (a: Float32Array, b: Float32Array) => {
  expect(a.length).toBe(b.length);
  return a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i])), 0);
};

describe.runIf(process.env.LUDUS_PYTHON).each(models)("the embedded and the PyTorch engine: %s", (_, model) => {
  let folder: string;
  let engines: [Engine, Engine];
  const at = (name: string) => join(folder, name);
  const batch = randomBatch(7, [6, 31, 4, 20, 60]);
  const derivatives = {
    logprobs_B_T: randomRows(batch, 1),
    entropies_B_T: randomRows(batch, 2),
    values_B_T: randomRows(batch, 3),
  };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "ludus-torch-"));
    const options = { model, tokenizer, valueHead: true, seed: 5, threads: 1 };
    engines = [await embedded(options), await torch({ ...options, device: "cpu", log: () => {} })];
  });
  afterAll(async () => {
    await Promise.all(engines.map((engine) => engine.close()));
    rmSync(folder, { recursive: true });
  });

  test("begin with the same weights for the same seed", async () => {
    await Promise.all(engines.map((engine, i) => engine.save(at(`start-${i}`))));
    for (const values of checkpointDifference(at("start-0"), at("start-1")).values())
      for (const value of values) expect(Math.abs(value)).toBeLessThan(1e-7);
    expect(engines[1].info).toMatchObject({ parameters: engines[0].info.parameters, hasValues: true });
  });

  test("give the same log-probabilities and entropies", async () => {
    const [ours, theirs] = await Promise.all(engines.map((engine) => engine.forward(batch, { temperature: 0.8 })));
    for (const key of ["logprobs_B_T", "entropies_B_T", "values_B_T"] as const) {
      ours[key]!.forEach((row, b) => {
        expect(largestDifference(row, theirs[key]![b]), `${key} of row ${b}`).toBeLessThan(1e-4);
      });
    }
  });

  test("sample the same tokens for the same seed", async () => {
    const prompts = [[1, 2, 3], [200], Array.from({ length: 40 }, (_, t) => (7 * t) % 250)];
    for (const [seed, tokens] of prompts.entries()) {
      const request = { tokens, maxTokens: 30, seed, temperature: 0.9, stopStrings: ["\u0001\u0002"] };
      const cut = { ...request, topP: 0.6, topK: 20, alternatives: 2 };
      for (const asked of [request, cut]) {
        const [ours, theirs] = await Promise.all(engines.map((engine) => engine.sample(asked)));
        expect(theirs.tokens).toEqual(ours.tokens);
        expect(theirs.stop).toBe(ours.stop);
        expect(largestDifference(theirs.logprobs, ours.logprobs)).toBeLessThan(1e-4);
        if (asked === cut) {
          expect(theirs.alternatives!.tokens).toEqual(ours.alternatives!.tokens);
          expect(largestDifference(theirs.cutLogprobs!, ours.cutLogprobs!)).toBeLessThan(1e-4);
        }
      }
    }
  });

  test("compute the same gradients", async () => {
    const [ours, theirs] = await Promise.all(
      engines.map(async (engine, i) => {
        await engine.save(at(`before-${i}`));
        await backward(batch, derivatives, { temperature: 0.8 })(engine);
        await engine.step(plainGradient);
        await engine.save(at(`after-${i}`));
        await engine.load(at(`before-${i}`));
        return checkpointDifference(at(`before-${i}`), at(`after-${i}`));
      }),
    );
    expectClose(ours, theirs, 1e-3);
    for (const [name, values] of ours) expectClose(new Map([[name, values]]), theirs, 2e-3);
    expect(dot(ours, ours)).toBeGreaterThan(1);
  });

  test("go on with what the other saved, and make the same step", async () => {
    const train = async (engine: Engine) => {
      await backward(batch, derivatives)(engine);
      return await engine.step({ learningRate: 2e-3, weightDecay: 0.1, maxGradientNorm: 5 });
    };
    const [ours, theirs] = engines;
    await ours.snapshot("reference");
    await train(ours);
    await ours.save(at("by-embedded"));
    await theirs.load(at("by-embedded"));
    expect(theirs.info).toMatchObject({ policyVersion: 1, weights: ["policy", "reference"] });
    const reports = await Promise.all(engines.map(train));
    expect(reports[1].gradientNorm! / reports[0].gradientNorm!).toBeCloseTo(1, 4);
    await Promise.all([ours.save(at("two-0")), theirs.save(at("two-1"))]);
    const moved = checkpointDifference(at("by-embedded"), at("two-0"));
    for (const [name, values] of checkpointDifference(at("two-0"), at("two-1"))) {
      // where the moments are next to nothing, the direction of Adam's step is chance
      const clear = values.filter((_, i) => Math.abs(moved.get(name)![i]) > 1e-4);
      const wrong = clear.filter((value) => Math.abs(value) > 1e-5);
      expect(wrong.length, name).toBe(0);
    }
    await ours.load(at("two-1"));
    expect(ours.info).toMatchObject({ policyVersion: 2, weights: ["policy", "reference"] });
    for (const weights of ["policy", "reference"]) {
      const [a, b] = await Promise.all(engines.map((engine) => engine.forward(batch, { weights })));
      a.logprobs_B_T.forEach((row, r) => {
        expect(largestDifference(row, b.logprobs_B_T[r])).toBeLessThan(1e-4);
      });
    }
  });
});
