import { expect, test } from "vitest";
import { LudusError } from "../../errors.ts";
import type { Sample } from "../engine.ts";
import { tiny } from "../model/model-config.ts";
import type { Decoder } from "./decoder.ts";
import { KernelMemory } from "./kernels/kernel-memory.ts";
import { kernelShape } from "./kernels/kernel-shape.ts";
import { rotationOf } from "./rotation.ts";
import { Sampler } from "./sampler.ts";

const config = tiny({ vocabularySize: 4, width: 8, headWidth: 8, layers: 1, contextLength: 64 });

/** A sampler whose decoder finds all tokens equally probable, and cannot compute with the weights "broken". */
function setUp() {
  const steps: string[] = [];
  const decoder: Decoder = {
    async run({ weights, temperatures }) {
      steps.push(weights);
      if (weights === "broken") throw new LudusError("out-of-memory", { got: "weights", expected: "less" });
      return temperatures.map(() => Float32Array.of(0.25, 0.25, 0.25, 0.25));
    },
    changed() {},
    forget() {},
  };
  const finished = new Map<number, Sample | LudusError>();
  const sampler = new Sampler({
    shape: kernelShape(config),
    memory: new KernelMemory(),
    decoder,
    decodeGroupBytes: Number.POSITIVE_INFINITY,
    rotation: rotationOf(config),
    maxCacheBytes: 2 ** 24,
    maxRows: 4,
    tokenBytes: undefined,
    version: () => 3,
    finish: (id, result) => finished.set(id, result),
  });
  return { sampler, finished, steps };
}

test("what cannot be computed ends with the reason, and the rest goes on", async () => {
  const { sampler, finished } = setUp();
  sampler.add(0, { tokens: [1], maxTokens: 5, seed: 0 });
  sampler.add(1, { tokens: [1, 2], maxTokens: 5, seed: 1, weights: "broken" });
  sampler.add(2, { tokens: [3], maxTokens: 7, seed: 2 });
  await expect.poll(() => finished.size).toBe(3);
  expect(finished.get(1)).toMatchObject({ code: "out-of-memory" });
  expect((finished.get(0) as Sample).tokens.length).toBe(5);
  expect((finished.get(2) as Sample).tokens.length).toBe(7);
  // its row is free again
  for (let id = 3; id < 7; id++) sampler.add(id, { tokens: [1], maxTokens: 2, seed: id });
  await expect.poll(() => finished.size).toBe(7);
});

test("requests that come in one turn of the loop are computed together", async () => {
  const { sampler, finished, steps } = setUp();
  for (let id = 0; id < 4; id++) sampler.add(id, { tokens: [id], maxTokens: 6, seed: id });
  await expect.poll(() => finished.size).toBe(4);
  expect(steps.length).toBe(6);
});

/** New weights while request 0 has drawn some tokens: how many tokens each later step computed. */
async function changeWeights(caches: "recompute" | "keep") {
  const counts: number[] = [];
  let version = 3;
  let changing: Promise<void> | undefined;
  const decoder: Decoder = {
    async run({ tokens, temperatures }) {
      counts.push(tokens.length);
      if (counts.length === 5) {
        changing = sampler.hold().then(() => {
          version = 4;
          sampler.resume(["policy"], caches);
        });
      }
      return temperatures.map(() => Float32Array.of(0.25, 0.25, 0.25, 0.25));
    },
    changed() {},
    forget() {},
  };
  const finished = new Map<number, Sample | LudusError>();
  const sampler = new Sampler({
    shape: kernelShape(config),
    memory: new KernelMemory(),
    decoder,
    decodeGroupBytes: Number.POSITIVE_INFINITY,
    rotation: rotationOf(config),
    maxCacheBytes: 2 ** 24,
    maxRows: 4,
    tokenBytes: undefined,
    version: () => version,
    finish: (id, result) => finished.set(id, result),
  });
  const tokens = Array.from({ length: 20 }, () => 1);
  sampler.add(0, { tokens, maxTokens: 10, seed: 0, rollout: "a" });
  await expect.poll(() => finished.size).toBe(1);
  await changing;
  const before = counts.length;
  sampler.add(1, { tokens, maxTokens: 1, seed: 1, rollout: "b" });
  await expect.poll(() => finished.size).toBe(2);
  return { versions: [...(finished.get(0) as Sample).versions], counts: counts.slice(0, before), next: counts[before] };
}

test("new weights go in between two tokens, with the KV cache computed anew", async () => {
  const { versions, counts, next } = await changeWeights("recompute");
  expect(versions).toEqual([3, 3, 3, 3, 3, 4, 4, 4, 4, 4]);
  expect(counts).toEqual([20, 1, 1, 1, 1, 25, 1, 1, 1, 1]);
  // the prompt's cache is of the new weights: another rollout shares it
  expect(next).toBe(1);
});

test("or with the KV cache as it is, which no other rollout shares", async () => {
  const { versions, counts, next } = await changeWeights("keep");
  expect(versions).toEqual([3, 3, 3, 3, 3, 4, 4, 4, 4, 4]);
  expect(counts).toEqual([20, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
  expect(next).toBe(20);
});
