import { expect, test } from "vitest";
import { fakeEngine } from "../engine/fake-engine.ts";
import { byteTokenizer } from "../policy/byte-tokenizer.ts";
import { compactRenderer } from "../policy/compact-renderer.ts";
import { engineSpeaker, truncationOf } from "./speaker.ts";

// 0.5, 0.3 and 0.2 at temperature 1; the first two make 0.8
const distribution = [5, 3, 2];

async function spoken(options: { temperature?: number; topP?: number; topK?: number }) {
  const engine = fakeEngine({ vocabularySize: 3, distribution });
  const renderer = { ...compactRenderer({ tokenizer: byteTokenizer() }), stopTokens: [] };
  const speak = engineSpeaker({ engine, renderer }, { id: "r", seed: 0, ...options });
  const request = { prompt: Int32Array.of(0), maxTokens: 30, seed: 3, role: "agent", stopStrings: [] };
  const { signal } = new AbortController();
  return speak({ ...request, forced: Int32Array.of(), signal }, undefined);
}

test.each([
  [{}, [0.5, 0.3, 0.2]],
  [{ topP: 1 }, [0.5, 0.3, 0.2]],
  [{ topK: 2 }, [5 / 8, 3 / 8]],
  [{ topP: 0.6 }, [5 / 8, 3 / 8]],
  [{ topK: 2, temperature: 0.5 }, [25 / 34, 9 / 34]],
  // deterministic: what is reported is the model's own at temperature 1
  [{ topK: 2, temperature: 0 }, [0.5]],
] as const)(
  "what is kept with %j is the log-probability under the distribution sampled from",
  async (options, expected) => {
    const { tokens, logprobs } = await spoken(options);
    expect([...new Set(tokens)].sort()).toEqual([...expected.keys()]);
    for (const [i, token] of tokens.entries()) expect(logprobs[i]).toBeCloseTo(Math.log(expected[token]), 5);
  },
);

test("only what cuts a distribution is a truncation", () => {
  expect(truncationOf({ topP: 1 })).toBeUndefined();
  expect(truncationOf({ topP: 0.5, temperature: 0 })).toBeUndefined();
  expect(truncationOf({ topP: 0.5 })).toEqual({ topP: 0.5 });
  expect(truncationOf({ topP: 1, topK: 4, temperature: 0.7 })).toEqual({ topK: 4 });
});
