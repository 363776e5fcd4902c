import { describe, expect, test } from "vitest";
import { type ContractContext, randomBatch } from "./context.ts";

export function forwardContract(context: ContractContext): void {
  describe("forward", () => {
    const lengths = [5, 17, 2, 9, 17, 30, 3, 12];

    test("rows together give what each gives alone", async () => {
      const batch = randomBatch(1, lengths);
      const together = await context.engine.forward(batch);
      for (const [b, row] of batch.rows.entries()) {
        const alone = await context.engine.forward({ rows: [row] });
        together.logprobs_B_T[b].forEach((logprob, t) => context.expectNear(logprob, alone.logprobs_B_T[0][t]));
        together.entropies_B_T[b].forEach((entropy, t) => context.expectNear(entropy, alone.entropies_B_T[0][t]));
        together.values_B_T?.[b]?.forEach((value, t) => context.expectNear(value, alone.values_B_T![0][t]));
      }
    });

    test("positions outside the mask, and the first, are 0", async () => {
      const { logprobs_B_T, entropies_B_T } = await context.engine.forward({
        rows: [{ tokens: [1, 2, 3, 4], mask: [1, 0, 1, 0] }],
      });
      expect([...logprobs_B_T[0]].map((logprob) => logprob !== 0)).toEqual([false, false, true, false]);
      const entropies = context.lacks("entropies") ? [false, false, false, false] : [false, false, true, false];
      expect([...entropies_B_T[0]].map((entropy) => entropy !== 0)).toEqual(entropies);
    });

    test("candidates and alternatives agree with each other and with the vocabulary", async ({ skip }) => {
      context.needs(skip, "candidates", "alternatives", "entropies");
      const tokens = [3, 1, 2];
      const count = context.engine.info.vocabularySize;
      const candidates = { count, tokens: Int32Array.from({ length: count * tokens.length }, (_, i) => i % count) };
      const { candidates_B_T, alternatives_B_T, entropies_B_T, logprobs_B_T } = await context.engine.forward(
        { rows: [{ tokens, candidates }] },
        { alternatives: 4 },
      );
      const last = candidates_B_T![0].subarray(2 * count, 3 * count);
      const probabilities = Array.from(last, Math.exp);
      expect(probabilities.reduce((a, b) => a + b)).toBeCloseTo(1, 4);
      expect(-probabilities.reduce((sum, p, i) => sum + p * last[i], 0)).toBeCloseTo(entropies_B_T[0][2], 3);
      expect(last[2]).toBeCloseTo(logprobs_B_T[0][2], 4);
      const sorted = Array.from(last).sort((a, b) => b - a);
      alternatives_B_T![0].logprobs.subarray(8, 12).forEach((logprob, k) => expect(logprob).toBeCloseTo(sorted[k], 4));
    });
  });
}
