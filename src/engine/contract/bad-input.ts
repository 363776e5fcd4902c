import { describe, expect, test } from "vitest";
import type { Engine } from "../engine.ts";
import type { ContractContext } from "./context.ts";

export function badInputContract(context: ContractContext): void {
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
      ["mask of another length", "length-mismatch", (e) => e.forward({ rows: [{ tokens: [1, 2, 3], mask: [1, 1] }] })],
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
      await expect(call(context.engine)).rejects.toMatchObject({ code });
      expect((await context.engine.sample({ tokens: [1, 2], maxTokens: 2, seed: 0 })).tokens.length).toBe(2);
    });

    test("a forward pass serves one backward pass", async () => {
      const other = await context.make();
      const forward = await other.forward({ rows: [row] });
      await other.backward(forward, { logprobs_B_T: [Float32Array.of(0, 1, 0)] });
      await expect(other.backward(forward, { logprobs_B_T: [Float32Array.of(0, 1, 0)] })).rejects.toMatchObject({
        code: "unknown-forward",
      });
      await other.close();
    });
  });
}
