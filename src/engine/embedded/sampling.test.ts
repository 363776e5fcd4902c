import { afterAll, describe, expect, test } from "vitest";
import { byteTokenizer } from "../../policy/byte-tokenizer.ts";
import { createRng } from "../../random.ts";
import type { Engine, Sample, SampleRequest } from "../engine.ts";
import { type ModelConfig, tiny } from "../model/model-config.ts";
import { type EmbeddedOptions, embedded } from "./embedded.ts";
import { kernelShape } from "./kernels/kernel-shape.ts";
import { pageBytes } from "./page-cache.ts";

const model = tiny({
  vocabularySize: 64,
  width: 32,
  headWidth: 8,
  keyValueHeads: 2,
  layers: 2,
  contextLength: 700,
  initializerRange: 0.2,
});
const open: Engine[] = [];

async function make(options: Partial<EmbeddedOptions> = {}): Promise<Engine> {
  const engine = await embedded({ model, seed: 5, threads: 1, ...options });
  open.push(engine);
  return engine;
}

afterAll(async () => {
  await Promise.all(open.map((engine) => engine.close()));
});

function requests(count: number, seed: number, longest: number): SampleRequest[] {
  const rng = createRng(seed);
  return Array.from({ length: count }, (_, i) => ({
    tokens: Array.from({ length: 1 + rng.integer(longest) }, () => rng.integer(64)),
    maxTokens: 1 + rng.integer(longest),
    seed: i,
  }));
}

/** Frequencies that change beyond an original context. */
function longRope(originalContextLength: number): ModelConfig["rope"] {
  const factors = (factor: number) => Array.from({ length: 4 }, (_, i) => factor + i);
  const common = { theta: 10000, factor: 8, attentionFactor: 1.2, shortFactors: factors(1), longFactors: factors(4) };
  return { type: "longrope", originalContextLength, ...common };
}

const bits = (sample: Sample) => `${sample.tokens.join()} ${sample.logprobs.join()}`;

async function oneByOne(engine: Engine, all: readonly SampleRequest[]): Promise<string[]> {
  const results: string[] = [];
  for (const request of all) results.push(bits(await engine.sample(request)));
  return results;
}

const together = async (engine: Engine, all: readonly SampleRequest[]) =>
  (await Promise.all(all.map((request) => engine.sample(request)))).map(bits);

describe("a continuation has the same bits", () => {
  const all = [
    ...requests(20, 1, 60),
    ...requests(6, 9, 3),
    ...[127, 128, 129, 130].map((length) => ({
      tokens: new Array<number>(length).fill(length % 64),
      maxTokens: 9,
      seed: length,
    })),
    ...requests(3, 2, 300),
    ...requests(6, 3, 1).map((request) => ({ ...request, tokens: [9, 8, 7, 6, 5, 4, 3, 2, 1, 0], maxTokens: 30 })),
  ];
  let alone: string[];

  test("alone and in a batch", async () => {
    const engine = await make();
    alone = await oneByOne(engine, all);
    expect(await together(engine, all)).toEqual(alone);
  });

  test("on any number of threads", async () => {
    expect(await together(await make({ threads: 3 }), all)).toEqual(alone);
  });

  test("with few rows, one at a time if need be", async () => {
    expect(await together(await make({ maxRows: 3 }), all)).toEqual(alone);
    expect(await together(await make({ maxRows: 1 }), all)).toEqual(alone);
  });

  test("after the prompt was taken over from another row", async () => {
    const engine = await make();
    const prompt = Array.from({ length: 200 }, (_, i) => (i * 5) % 64);
    const group = Array.from({ length: 6 }, (_, seed) => ({ tokens: prompt, maxTokens: 12, seed }));
    const related = [{ tokens: [...prompt.slice(0, 150), 1, 2, 3], maxTokens: 12, seed: 0 }];
    const fresh = await oneByOne(await make(), [...related, ...group]);
    expect(await together(engine, [...group, ...related])).toEqual([...fresh.slice(1), fresh[0]]);
  });
});

test("turns of a rollout have the same bits alone and among others", async () => {
  const engine = await make({ threads: 2 });
  async function play(name: string, seed: number): Promise<string[]> {
    const rng = createRng(seed);
    let tokens = Array.from({ length: 5 + rng.integer(80) }, () => rng.integer(64));
    const turns: string[] = [];
    for (let turn = 0; turn < 4; turn++) {
      const sample = await engine.sample({ tokens, maxTokens: 3 + rng.integer(20), seed: turn, rollout: name });
      turns.push(bits(sample));
      tokens = [...tokens, ...sample.tokens, ...Array.from({ length: 1 + rng.integer(40) }, () => rng.integer(64))];
    }
    await engine.release({ rollout: name });
    return turns;
  }
  const alone: string[][] = [];
  for (let i = 0; i < 12; i++) alone.push(await play(`alone ${i}`, i));
  expect(await Promise.all(alone.map((_, i) => play(`among ${i}`, i)))).toEqual(alone);
});

describe("memory", () => {
  test("is bounded: requests that do not fit wait, and preempted ones are prefilled again", async () => {
    const all = requests(7, 4, 100).map((request) => ({ ...request, maxTokens: 250 })); // more than a page each
    const free = await together(await make(), all);
    const tight = await make({ maxCacheBytes: pageBytes(kernelShape(model)) * 4 });
    expect(await together(tight, all)).toEqual(free);
  });

  test("that cannot hold a single sequence is an error with numbers, and the engine goes on", async () => {
    const engine = await make({ maxCacheBytes: pageBytes(kernelShape(model)) });
    await expect(engine.sample({ tokens: new Array(300).fill(1), maxTokens: 5, seed: 0 })).rejects.toMatchObject({
      code: "cache-too-small",
      message: expect.stringContaining("MiB"),
    });
    await expect(engine.sample({ tokens: [1], maxTokens: 300, seed: 0 })).rejects.toMatchObject({
      code: "cache-too-small",
    });
    expect((await engine.sample({ tokens: [1], maxTokens: 5, seed: 0 })).tokens.length).toBe(5);
  });

  test("of idle rollouts is evicted first", async () => {
    const engine = await make({ maxRows: 2 });
    for (let i = 0; i < 6; i++)
      await engine.sample({ tokens: [1, 2, i], maxTokens: 3, seed: i, rollout: `rollout ${i}` });
    const again = await engine.sample({ tokens: [1, 2, 0, 5, 5], maxTokens: 3, seed: 1, rollout: "rollout 0" });
    expect(again.tokens.length).toBe(3);
  });

  test("of an aborted request is free at once", async () => {
    const engine = await make({ maxRows: 1 });
    const controller = new AbortController();
    const endless = engine.sample({ tokens: [1], maxTokens: 690, seed: 0 }, controller.signal);
    const next = engine.sample({ tokens: [2], maxTokens: 2, seed: 0 });
    controller.abort(new Error("enough"));
    await expect(endless).rejects.toThrow("enough");
    expect((await next).tokens.length).toBe(2);
  });
});

test("long and short sequences, turns and forks all agree with the forward pass", async () => {
  const engine = await make({ threads: 2 });
  const rng = createRng(8);
  await Promise.all(
    Array.from({ length: 8 }, async (_, i) => {
      let tokens = Array.from({ length: 5 + 60 * i }, () => rng.integer(64));
      for (let turn = 0; turn < 3; turn++) {
        const sample = await engine.sample({ tokens, maxTokens: 10, seed: turn, rollout: `long ${i}` });
        const all = [...tokens, ...sample.tokens];
        const { logprobs_B_T } = await engine.forward({ rows: [{ tokens: all }] });
        sample.logprobs.forEach((logprob, t) => expect(logprob).toBeCloseTo(logprobs_B_T[0][tokens.length + t], 4));
        tokens = [...all, ...Array.from({ length: 1 + 9 * turn }, () => rng.integer(64))];
      }
    }),
  );
});

test("longrope is refused beyond its original context, and is one table within it", async () => {
  await expect(embedded({ model: { ...model, rope: longRope(40) }, threads: 1 })).rejects.toMatchObject({
    code: "unsupported-model",
    message: expect.stringMatching(/longrope.*max_position_embeddings 700.*attention_factor to 1\.2/s),
  });
  const engine = await embedded({ model: { ...model, rope: longRope(model.contextLength) }, seed: 2, threads: 2 });
  const sample = await engine.sample({ tokens: [1, 2, 3], maxTokens: 600, seed: 1 });
  const { logprobs_B_T } = await engine.forward({ rows: [{ tokens: [1, 2, 3, ...sample.tokens] }] });
  sample.logprobs.forEach((logprob, i) => expect(logprob).toBeCloseTo(logprobs_B_T[0][3 + i], 4));
  await engine.close();
});

test("stop strings end a sample, and need a tokenizer", async () => {
  const tokenizer = byteTokenizer();
  const engine = await embedded({
    model: { ...model, vocabularySize: tokenizer.vocabularySize },
    tokenizer,
    threads: 1,
  });
  const free = await engine.sample({ tokens: [65], maxTokens: 40, seed: 1 });
  const bytes = Buffer.concat([...free.tokens.subarray(0, 40)].map((token) => tokenizer.tokenBytes(token)));
  const ascii = [...bytes].findIndex((byte, i) => i > 3 && byte < 128 && bytes[i + 1] < 128);
  const stop = bytes.subarray(ascii, ascii + 2).toString();
  const stopped = await engine.sample({ tokens: [65], maxTokens: 40, seed: 1, stopStrings: [stop] });
  expect(stopped.stop).toBe("stop-string");
  expect(stopped.tokens.length).toBeLessThanOrEqual(free.tokens.length);
  await engine.close();
  const bare = await make();
  await expect(bare.sample({ tokens: [1], maxTokens: 1, seed: 0, stopStrings: ["x"] })).rejects.toMatchObject({
    code: "no-tokenizer",
  });
});

test("a closed engine says so", async () => {
  const engine = await embedded({ model, threads: 1 });
  const pending = engine.sample({ tokens: [1], maxTokens: 600, seed: 0 });
  await engine.close();
  await expect(pending).rejects.toMatchObject({ code: "engine-closed" });
  await expect(engine.sample({ tokens: [1], maxTokens: 1, seed: 0 })).rejects.toMatchObject({ code: "engine-closed" });
});
