import { expect, test } from "vitest";
import { engineContract } from "./engine.contract.ts";
import { fakeEngine } from "./fake-engine.ts";

const distribution = (tokens: readonly number[]) =>
  Array.from({ length: 16 }, (_, token) => 1 + ((token * 7 + (tokens.at(-1) ?? 0) * 3) % 11));

engineContract("the fake engine", {
  make: async () =>
    fakeEngine({ vocabularySize: 16, contextLength: 64, distribution, value: (tokens) => tokens.length / 10 }),
  learns: false,
});

test("gives the distribution that was set, and remembers what it was asked", async () => {
  const engine = fakeEngine({ vocabularySize: 3, distribution: [1, 2, 1] });
  const forward = await engine.forward({ rows: [{ tokens: [0, 1, 2] }] });
  expect([...forward.logprobs_B_T[0]].map(Math.exp)).toEqual([1, expect.closeTo(0.5, 5), expect.closeTo(0.25, 5)]);
  await engine.sample({ tokens: [0], maxTokens: 2, seed: 1 });
  await engine.backward(forward, { logprobs_B_T: [Float32Array.of(0, 1, 0)] });
  expect(engine.samples).toHaveLength(1);
  expect(engine.backwards[0].derivatives.logprobs_B_T![0][1]).toBe(1);
  expect((await engine.step({ learningRate: 1 })).policyVersion).toBe(1);
});

test("a failing or waiting model is made with beforeSample", async () => {
  const engine = fakeEngine({
    vocabularySize: 2,
    distribution: [1, 1],
    beforeSample: ({ seed }) => {
      if (seed === 13) throw new Error("unlucky");
    },
  });
  await expect(engine.sample({ tokens: [0], maxTokens: 1, seed: 13 })).rejects.toThrow("unlucky");
  await expect(engine.sample({ tokens: [0], maxTokens: 1, seed: 1 })).resolves.toBeDefined();
});

test("stop strings work across token borders", async () => {
  const letters = ["a", "b", "c"].map((letter) => new TextEncoder().encode(letter));
  const engine = fakeEngine({
    vocabularySize: 3,
    distribution: (tokens) => [0, 1, 2].map((token) => (token === (tokens.at(-1)! + 1) % 3 ? 1 : 0)),
    tokenBytes: letters,
  });
  const sample = await engine.sample({ tokens: [2], maxTokens: 20, seed: 0, stopStrings: ["cab"] });
  expect([...sample.tokens]).toEqual([0, 1, 2, 0, 1]);
  expect(sample.stop).toBe("stop-string");
});
