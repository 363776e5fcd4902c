import { describe, expect, test } from "vitest";
import { tiny } from "../model/model-config.ts";
import { splitEngine } from "../split-engine.ts";
import { torch } from "./torch.ts";
import { torchSampler } from "./torch-sampler.ts";

const model = tiny({
  vocabularySize: 24,
  width: 32,
  headWidth: 8,
  keyValueHeads: 2,
  layers: 2,
  contextLength: 64,
  initializerRange: 0.15,
});
const quiet = { device: "cpu", threads: 1, log: () => {} };

test.each([
  ["memory of another machine", { weights: "shared", connect: "127.0.0.1:1" }, /one of them/],
  ["another way", { weights: "nccl" }, /"files" or "shared"|files, shared/],
])("a sampler refuses weights by %s", (_, options, message) => {
  expect(() => torchSampler(options as never)).toThrow(message);
});

describe.runIf(process.env.LUDUS_PYTHON)("two PyTorch workers", () => {
  // without a GPU what is shared are files
  test.each(["files", "shared"] as const)(
    "sample from %s of the weights that the other one trains, and one may die",
    async (weights) => {
      const trainer = await torch({ model, seed: 3, ...quiet });
      const states: string[] = [];
      const samplers = [torchSampler({ ...quiet, weights })];
      const engine = splitEngine({ trainer, samplers, onSampler: ({ state }) => void states.push(state) });
      try {
        const request = { tokens: [1, 2, 3], maxTokens: 8, seed: 7 };
        const before = await engine.sample(request);
        const forward = await engine.forward({ rows: [{ tokens: [1, 2, 3, ...before.tokens] }] });
        for (const [i, logprob] of before.logprobs.entries()) {
          expect(logprob).toBeCloseTo(forward.logprobs_B_T[0][3 + i], 4);
        }
        await engine.backward(forward, { logprobs_B_T: [forward.logprobs_B_T[0].map(() => 1)] });
        await engine.step({ learningRate: 1e-2 });
        const after = await engine.sample(request);
        expect([...after.versions]).toEqual(new Array(after.tokens.length).fill(1));
        const own = await trainer.sample(request);
        expect([...after.tokens]).toEqual([...own.tokens]);
        await samplers[0].close!();
        expect([...(await engine.sample(request)).tokens]).toEqual([...own.tokens]);
        expect(states).toEqual(["up", "down"]);
      } finally {
        await engine.close();
      }
    },
  );
});
