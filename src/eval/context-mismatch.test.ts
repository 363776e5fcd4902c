import { expect, test } from "vitest";
import { fakeEngine } from "../engine/fake-engine.ts";
import { defineEnv } from "../env/define-env.ts";
import { byteTokenizer } from "../policy/byte-tokenizer.ts";
import { compactRenderer } from "../policy/compact-renderer.ts";
import { observationStubs } from "../rollout/context.ts";
import { listed } from "../task/listed.ts";
import { contextMismatch } from "./context-mismatch.ts";
import { evaluate } from "./evaluate.ts";

const tokenizer = byteTokenizer();
const [yes, end, page] = ["y".charCodeAt(0), tokenizer.specialTokens.eos!.id, "P".charCodeAt(0)];

/** Three turns, each after a long page. */
const pages = defineEnv({
  name: "pages",
  tasks: listed({ train: [1, 2], test: [1, 2] }, { name: "pages" }),
  start: () => ({ state: { turns: 0 }, say: "P".repeat(30) }),
  act({ state }) {
    state.turns++;
    return state.turns === 3 ? { done: true } : { say: "P".repeat(30) };
  },
  score: () => 1,
});

/** Says `y` and ends its turn; how surely depends on how many pages it sees where `reads`. */
function policyOf(reads: boolean) {
  const engine = fakeEngine({
    vocabularySize: tokenizer.vocabularySize,
    contextLength: 1000,
    distribution(tokens) {
      const seen = tokens.filter((token) => token === page).length;
      const sure = reads ? 0.5 + seen / 400 : 0.9;
      const next = tokens.at(-1) === yes ? end : yes;
      return Array.from({ length: tokenizer.vocabularySize }, (_, id) =>
        id === next ? sure : id === 0 ? 1 - sure : 0,
      );
    },
  });
  return { engine, renderer: compactRenderer({ tokenizer }), tokenizer };
}

const options = { tasks: 2, seed: 1, limits: { turnTokens: 4 } };

test("without compression there is one text, and nothing to differ", async () => {
  const policy = policyOf(true);
  const { rollouts } = await evaluate(pages, policy, options);
  expect(await contextMismatch(policy.engine, rollouts)).toMatchObject({ tokens: 0, logprobDifference: Number.NaN });
});

test("compression shortens prompts, and earlier turns stand under others than they were sampled from", async () => {
  const [reading, blind] = [policyOf(true), policyOf(false)];
  const compressed = { ...options, context: observationStubs(".") };
  const whole = await contextMismatch(reading.engine, (await evaluate(pages, reading, options)).rollouts);
  const { rollouts } = await evaluate(pages, reading, compressed);
  const found = await contextMismatch(reading.engine, rollouts);
  expect(found.longestPrompt).toBeLessThan(0.8 * whole.longestPrompt);
  expect(found.tokens).toBeGreaterThan(0);
  expect(found.logprobDifference).toBeGreaterThan(0.01);
  // a policy that does not read pages says the same whatever it is shown
  const same = await contextMismatch(blind.engine, (await evaluate(pages, blind, compressed)).rollouts);
  expect(same.tokens).toBeGreaterThan(0);
  expect(same.logprobDifference).toBeCloseTo(0, 6);
  expect(same.beyondClip).toBe(0);
});
