import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Engine, SampleRequest } from "../engine.ts";
import { tiny } from "../model/model-config.ts";
import type { PublishedWeights, Sampler } from "../sampler.ts";
import { torch } from "./torch.ts";

const model = tiny({
  vocabularySize: 24,
  width: 32,
  headWidth: 8,
  layers: 2,
  contextLength: 64,
  initializerRange: 0.15,
});
const rows = [{ tokens: [1, 2, 3, 4, 5, 6] }];
const uphill = { logprobs_B_T: [Float32Array.of(0, -1, -1, -1, -1, -1)] };

/** Answers with token 7 and remembers what it was given. */
class SevenSampler implements Sampler {
  readonly name = "seven";
  readonly takes = "adapter";
  readonly adapters: (PublishedWeights & { files: string[] })[] = [];
  readonly requests: SampleRequest[] = [];

  async use(adapter: PublishedWeights): Promise<void> {
    this.adapters.push({ ...adapter, files: readdirSync(adapter.directory).sort() });
  }

  async sample(request: SampleRequest) {
    this.requests.push(request);
    const { version } = this.adapters.at(-1)!;
    return {
      tokens: Int32Array.of(7),
      logprobs: Float32Array.of(-1),
      versions: Int32Array.of(version),
      stop: "max-tokens" as const,
    };
  }
}

describe.runIf(process.env.LUDUS_PYTHON)("adapters on PyTorch", () => {
  const sampler = new SevenSampler();
  let folder: string;
  let engine: Engine;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "ludus-lora-"));
    const lora = { rank: 4 };
    engine = await torch({ model, lora, sampler, seed: 3, device: "cpu", threads: 1, log: () => {} });
  });
  afterAll(async () => {
    await engine.close();
    rmSync(folder, { recursive: true });
  });

  const train = async () => {
    await engine.backward(await engine.forward({ rows }), uphill);
    await engine.step({ learningRate: 1e-2 });
  };
  const likelihood = async (weights: string) =>
    (await engine.forward({ rows }, { weights })).logprobs_B_T[0].reduce((a, b) => a + b);

  test("learn while the reference, the base without them, stays", async () => {
    await engine.snapshot("reference");
    const start = await likelihood("policy");
    expect(await likelihood("reference")).toBeCloseTo(start, 5);
    for (let i = 0; i < 10; i++) await train();
    expect(await likelihood("policy")).toBeGreaterThan(start + 1);
    expect(await likelihood("reference")).toBeCloseTo(start, 5);
  });

  test("are handed to the sampler after every step, in PEFT's files", async () => {
    expect(sampler.adapters.map(({ version }) => version)).toEqual(Array.from({ length: 11 }, (_, i) => i));
    expect(sampler.adapters[0].files).toEqual(["adapter_config.json", "adapter_model.safetensors"]);
    expect(existsSync(sampler.adapters[0].directory)).toBe(false);
    expect(existsSync(sampler.adapters[10].directory)).toBe(true);
  });

  test("of the policy are sampled there, other weights here", async () => {
    const request = { tokens: [1, 2], maxTokens: 3, seed: 1 };
    expect([...(await engine.sample(request)).versions]).toEqual([10]);
    expect((await engine.sample({ ...request, weights: "reference" })).tokens.length).toBe(3);
    expect(sampler.requests).toEqual([request]);
  });

  test("are saved and loaded with their optimizer", async () => {
    const saved = join(folder, "saved");
    await engine.save(saved);
    expect(readdirSync(saved)).toContain("adapter_model.safetensors");
    const before = await likelihood("policy");
    await train();
    const after = await likelihood("policy");
    await engine.load(saved);
    expect(await likelihood("policy")).toBe(before);
    await train();
    expect(await likelihood("policy")).toBe(after);
  });
});
