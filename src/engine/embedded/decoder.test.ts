import { describe, expect, test } from "vitest";
import { createRng } from "../../random.ts";
import type { Sample, SampleRequest } from "../engine.ts";
import { checkModelConfig, type ModelConfig, tiny } from "../model/model-config.ts";
import { ComputeThread } from "./compute-thread.ts";
import { embedded } from "./embedded.ts";
import { compileKernels } from "./kernels/compile-kernels.ts";
import { initialiseWeights, sharedFloats, weightLayout } from "./weights.ts";

const common = { vocabularySize: 70, layers: 2, contextLength: 400, initializerRange: 0.3 };
const models: Record<string, ModelConfig> = {
  "Llama, shared keys": tiny({ ...common, width: 48, heads: 6, keyValueHeads: 2, headWidth: 8 }),
  "Llama, biases everywhere, separate head": tiny({
    ...common,
    width: 32,
    headWidth: 16,
    tiedEmbeddings: false,
    biases: { queryKeyValue: true, output: true, feedForward: true },
  }),
  Qwen2: tiny({ ...common, family: "qwen2", width: 64 }),
  "Qwen3, heads wider than the model": tiny({ ...common, family: "qwen3", width: 24, heads: 2, headWidth: 20 }),
  "widths that fill no vector": tiny({
    ...common,
    family: "qwen2",
    vocabularySize: 37,
    width: 30,
    heads: 3,
    keyValueHeads: 1,
    headWidth: 6,
    feedForwardWidth: 50,
  }),
};

function requests(vocabularySize: number): SampleRequest[] {
  const rng = createRng(3);
  return [1, 3, 17, 40, 40, 290].map((length, i) => ({
    tokens: Array.from({ length }, () => rng.integer(vocabularySize)),
    maxTokens: 12,
    temperature: [1, 0.5, 2][i % 3],
    seed: i,
  }));
}

async function sampleWith(model: ModelConfig, decoding: "kernels" | "sessions", threads = 1): Promise<Sample[]> {
  const config = checkModelConfig(model);
  const layout = weightLayout(config, false);
  const all = sharedFloats(layout.size);
  initialiseWeights(all, layout, config, 7);
  // initial biases and norms are all alike, and would hide what is mixed up
  for (const { shape, offset, size } of layout.slices)
    if (shape.length === 1) for (let i = 0; i < size; i++) all[offset + i] += 0.3 * Math.sin(i);
  const kernels = compileKernels(config, threads > 1);
  const thread = new ComputeThread({
    config,
    valueHead: false,
    intraThreads: threads,
    kernels,
    decoding,
    training: undefined,
    maxCacheBytes: 2 ** 26,
    maxRows: 8,
    recompute: "automatic",
    tokenBytes: undefined,
  });
  await thread.setWeights({ name: "policy", all, version: 0 });
  const all_B = requests(config.vocabularySize).map((request, id) => thread.sample({ id, request }));
  return (await Promise.all(all_B)) as Sample[];
}

describe.each(Object.entries(models))("%s", (_, model) => {
  test("kernels and sessions draw the same tokens with the same probabilities", async () => {
    const [kernels, sessions] = await Promise.all([sampleWith(model, "kernels"), sampleWith(model, "sessions")]);
    kernels.forEach((sample, b) => {
      expect(sample.tokens).toEqual(sessions[b].tokens);
      sample.logprobs.forEach((logprob, t) => expect(logprob).toBeCloseTo(sessions[b].logprobs[t], 4));
    });
  });

  test("a step that three threads compute together has the same bits", async () => {
    const [alone, together] = await Promise.all([sampleWith(model, "kernels"), sampleWith(model, "kernels", 3)]);
    expect(together).toEqual(alone);
  });

  test("samples agree with the forward pass", async () => {
    const engine = await embedded({ model, seed: 7, threads: 1 });
    for (const request of requests(model.vocabularySize)) {
      const { tokens, logprobs } = await engine.sample(request);
      const row = { tokens: [...request.tokens, ...tokens] };
      const { logprobs_B_T } = await engine.forward({ rows: [row] }, { temperature: request.temperature! });
      logprobs.forEach((logprob, t) => expect(logprob).toBeCloseTo(logprobs_B_T[0][request.tokens.length + t], 4));
    }
    await engine.close();
  });
});
