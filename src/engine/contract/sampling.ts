import { describe, expect, test } from "vitest";
import type { Sample } from "../engine.ts";
import type { ContractContext } from "./context.ts";

/**
 * The same tokens with log-probabilities that rounding tells apart. In the few tokens of this suite, a draw that falls within
 * rounding of the border between two tokens would be a chance of one in ten thousand.
 */
function expectSameButForRounding(a: Sample, b: Sample): void {
  expect(a.tokens).toEqual(b.tokens);
  a.logprobs.forEach((logprob, i) => expect(Math.abs(logprob - b.logprobs[i])).toBeLessThan(1e-4));
}

export function samplingContract(context: ContractContext): void {
  describe("sampling", () => {
    test.for([0.3, 1, 1.7])(
      "log-probabilities are those of forward at temperature %d",
      async (temperature, { skip }) => {
        if (temperature !== 1) context.needs(skip, "temperatures");
        const prompts = [[1, 2, 3], [4], [5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 1, 2]];
        const samples = await Promise.all(
          prompts.map((tokens, seed) => context.engine.sample({ tokens, maxTokens: 10, seed, temperature })),
        );
        await context.expectThoseOfForward(context.engine, prompts, samples, { temperature });
        for (const sample of samples) {
          expect(sample.stop).toBe("max-tokens");
          expect([...sample.versions]).toEqual(new Array(10).fill(context.engine.info.policyVersion));
        }
      },
    );

    test("turns of a rollout go on where the last one ended", async () => {
      const first = await context.engine.sample({ tokens: [1, 2, 3], maxTokens: 4, seed: 1, rollout: "turns" });
      const tokens = [1, 2, 3, ...first.tokens, 9, 8, 7];
      const kept = await context.engine.sample({ tokens, maxTokens: 5, seed: 2, rollout: "turns" });
      // another history under the same name is noticed, not mixed up
      const other = [1, 2, 9, 9, 9];
      const changed = await context.engine.sample({ tokens: other, maxTokens: 5, seed: 3, rollout: "turns" });
      await context.expectThoseOfForward(context.engine, [tokens, other], [kept, changed]);
      if (context.precision === "float32") {
        const fresh = await context.engine.sample({ tokens, maxTokens: 5, seed: 2 });
        expect(kept.tokens).toEqual(fresh.tokens);
        expect(changed.tokens).toEqual((await context.engine.sample({ tokens: other, maxTokens: 5, seed: 3 })).tokens);
      }
      await context.engine.release({ rollout: "turns" });
      await context.engine.release({ rollout: "never heard of" });
    });

    const requests = Array.from({ length: 12 }, (_, i) => ({
      tokens: Array.from({ length: 1 + ((5 * i) % 11) }, (_, t) => (t * (i + 3)) % 16),
      maxTokens: 12,
      seed: i,
    }));

    /** The samples of `requests` while 40 others are sampled. */
    async function sampledAmongOthers(): Promise<Sample[]> {
      const others = Array.from({ length: 40 }, (_, i) =>
        context.engine.sample({ ...requests[i % 12], maxTokens: 1 + (i % 13), seed: 100 + i }),
      );
      const among = await Promise.all(requests.map((request) => context.engine.sample(request)));
      await Promise.all(others);
      return among;
    }

    test("log-probabilities are those of forward, whatever else is sampled", async () => {
      const prompts = requests.map(({ tokens }) => tokens);
      await context.expectThoseOfForward(context.engine, prompts, await sampledAmongOthers());
    });

    test("the same seed gives the same continuation, whatever else is sampled", async ({ skip }) => {
      context.needsFloat32(skip, "a batch of another size rounds differently, and may draw another token");
      const alone: Sample[] = [];
      for (const request of requests) alone.push(await context.engine.sample(request));
      const among = await sampledAmongOthers();
      if (context.rounding === "fixed") expect(among).toEqual(alone);
      else among.forEach((sample, i) => expectSameButForRounding(sample, alone[i]));
      const seeds = await Promise.all(
        Array.from({ length: 8 }, (_, seed) => context.engine.sample({ ...requests[3], seed })),
      );
      expect(new Set(seeds.map(({ tokens }) => tokens.join())).size).toBeGreaterThan(1);
    });

    test("frequencies follow the distribution", async () => {
      const rows = Array.from({ length: 16 }, (_, token) => ({ tokens: [2, 7, 1, token] }));
      const { logprobs_B_T } = await context.engine.forward({ rows });
      const chances = logprobs_B_T.map((logprobs_T) => Math.exp(logprobs_T[3]));
      const probability = Math.max(...chances);
      const likely = chances.indexOf(probability);
      const draws = await Promise.all(
        Array.from({ length: 600 }, (_, seed) => context.engine.sample({ tokens: [2, 7, 1], maxTokens: 1, seed })),
      );
      const share = draws.filter(({ tokens }) => tokens[0] === likely).length / draws.length;
      expect(Math.abs(share - probability)).toBeLessThan(
        4 * Math.sqrt((probability * (1 - probability)) / draws.length),
      );
    });

    test("top-k and top-p draw from the cut distribution and report both log-probabilities", async ({ skip }) => {
      context.needs(skip, "cuts", "alternatives");
      for (const [seed, cut] of [{ topK: 3 }, { topP: 0.4 }, { topK: 5, topP: 0.3 }, { topK: 1 }].entries()) {
        const sample = await context.engine.sample({ tokens: [1, 2], maxTokens: 8, seed, ...cut, alternatives: 16 });
        sample.tokens.forEach((token, i) => {
          const tokens = sample.alternatives!.tokens.subarray(i * 16, (i + 1) * 16);
          const probabilities = Array.from(sample.alternatives!.logprobs.subarray(i * 16, (i + 1) * 16), Math.exp);
          let kept = 0;
          let total = 0;
          while (kept < (cut.topK ?? 16) && (kept === 0 || total < (cut.topP ?? 1))) total += probabilities[kept++];
          expect([...tokens.subarray(0, kept)]).toContain(token);
          expect(sample.cutLogprobs![i]).toBeCloseTo(sample.logprobs[i] - Math.log(total), 4);
        });
      }
      expect((await context.engine.sample({ tokens: [1], maxTokens: 1, seed: 0 })).cutLogprobs).toBeUndefined();
    });

    test("cut log-probabilities are those of the distribution drawn from, at the request's temperature", async ({
      skip,
    }) => {
      context.needs(skip, "cuts");
      for (const cut of [{ topK: 3 }, { topP: 0.5 }]) {
        const request = { tokens: [2, 7, 1], maxTokens: 1, temperature: 0.7, ...cut };
        const draws = await Promise.all(
          Array.from({ length: 400 }, (_, seed) => context.engine.sample({ ...request, seed })),
        );
        const counts = new Map<number, number>();
        const chances = new Map<number, number>();
        for (const { tokens, cutLogprobs } of draws) {
          counts.set(tokens[0], (counts.get(tokens[0]) ?? 0) + 1);
          chances.set(tokens[0], Math.exp(cutLogprobs![0]));
        }
        expect([...chances.values()].reduce((a, b) => a + b)).toBeLessThan(1 + 1e-4);
        for (const [token, chance] of chances) {
          const deviation = Math.sqrt((chance * (1 - chance)) / draws.length);
          expect(Math.abs(counts.get(token)! / draws.length - chance)).toBeLessThan(4 * deviation + 1e-6);
        }
      }
    });

    test("temperature 0 takes the same tokens for every seed, none less probable than another", async () => {
      const request = { tokens: [1, 2], maxTokens: 5, temperature: 0 };
      const greedy = await context.engine.sample({ ...request, seed: 0 });
      expect((await context.engine.sample({ ...request, seed: 1 })).tokens).toEqual(greedy.tokens);
      await context.expectThoseOfForward(context.engine, [[1, 2]], [greedy]);
      const rows = Array.from({ length: 16 }, (_, token) => ({ tokens: [1, 2, token] }));
      const { logprobs_B_T } = await context.engine.forward({ rows });
      for (const logprobs_T of logprobs_B_T) expect(logprobs_T[2]).toBeLessThan(greedy.logprobs[0] + 1e-4);
    });

    test("temperature 0 takes the most probable token", async ({ skip }) => {
      context.needs(skip, "alternatives");
      const greedy = await context.engine.sample({
        tokens: [1, 2],
        maxTokens: 5,
        seed: 0,
        temperature: 0,
        alternatives: 1,
      });
      expect([...greedy.tokens]).toEqual([...greedy.alternatives!.tokens]);
      greedy.logprobs.forEach((logprob, i) => expect(logprob).toBeCloseTo(greedy.alternatives!.logprobs[i], 5));
    });

    test("ends at stop tokens, at the limit and at the end of the context", async () => {
      const long = await context.engine.sample({ tokens: [1], maxTokens: 20, seed: 4 });
      const stopping = await context.engine.sample({
        tokens: [1],
        maxTokens: 20,
        seed: 4,
        stopTokens: [long.tokens[6]],
      });
      expect(stopping.stop).toBe("stop-token");
      expect([...stopping.tokens]).toEqual([...long.tokens.subarray(0, long.tokens.indexOf(long.tokens[6]) + 1)]);
      const prompt = new Array(context.engine.info.contextLength - 3).fill(1);
      const full = await context.engine.sample({ tokens: prompt, maxTokens: 20, seed: 4 });
      expect([full.stop, full.tokens.length]).toEqual(["context-full", 3]);
    });

    test("an aborted sample is rejected and leaves room for others", async () => {
      const controllers = Array.from({ length: 30 }, () => new AbortController());
      const doomed = controllers.map(({ signal }, seed) =>
        context.engine.sample({ tokens: [1, seed % 16], maxTokens: context.engine.info.contextLength, seed }, signal),
      );
      for (const controller of controllers) controller.abort();
      const outcomes = await Promise.allSettled(doomed);
      expect(outcomes.filter(({ status }) => status === "rejected").length).toBeGreaterThan(0);
      expect((await context.engine.sample({ tokens: [1], maxTokens: 3, seed: 0 })).tokens.length).toBe(3);
      await expect(
        context.engine.sample({ tokens: [1], maxTokens: 3, seed: 0 }, AbortSignal.abort()),
      ).rejects.toThrow();
    });
  });
}
