import { describe, expect, test } from "vitest";
import { byteTokenizer } from "../../policy/byte-tokenizer.ts";
import { compactRenderer } from "../../policy/compact-renderer.ts";
import { thinkAnswer } from "../../policy/formats/think-answer.ts";
import { type Context, fullContext, lastTurns, observationStubs } from "../../rollout/context.ts";
import type { RolloutOptions } from "../../rollout/rollout.ts";
import { runRollout } from "../../rollout/run-rollout.ts";
import type { Trajectory } from "../../schema/trajectory.ts";
import { generated } from "../../task/generated.ts";
import { defineEnv } from "../define-env.ts";

import { checkTokens } from "./contract/check-tokens.ts";
import { scriptedEngine } from "./contract/scripted-engine.ts";

const tokenizer = byteTokenizer({ special: ["<s>", "<e>"], markup: [], eos: "<e>" });
const renderer = compactRenderer({ tokenizer });
/** The policy's turns between brackets. */
const decode = (tokens: Int32Array | readonly number[]) =>
  tokenizer.decode(tokens, { special: true }).replaceAll("<s>", "[").replaceAll("<e>", "]");

/** Says `go`, then `one`, `two`, … */
const count = defineEnv({
  name: "count",
  tasks: generated(() => null),
  system: "S.",
  start: () => ({ state: null, say: "go" }),
  act: ({ turn }) => ({ say: ["one", "two", "three", "four"][turn] ?? "more" }),
  limits: { turns: 5 },
});

async function play(context: Context, options: Partial<RolloutOptions> = {}, says = ["a", "b", "c", "d", "e"]) {
  const policy = scriptedEngine({ tokenizer, renderer, says });
  const task = await count.tasks.at("train", 0);
  const { trajectories, stop } = await runRollout(count, task, policy, { id: "r", seed: 1, context, ...options });
  expect(stop).toBe("max-turns");
  checkTokens(trajectories, policy.samples);
  return { trajectories, prompts: policy.samples.map(({ request }) => decode(Int32Array.from(request.tokens))) };
}

/** What is learned from, in capitals. */
function learned({ tokens_T, mask_T }: Trajectory): string {
  return [...tokens_T].map((id, t) => (mask_T[t] === 1 ? decode([id]).toUpperCase() : decode([id]))).join("");
}

describe("fullContext", () => {
  test("is one trajectory in which every prompt goes on from the last", async () => {
    const { trajectories, prompts } = await play(fullContext());
    expect(prompts.slice(0, 3)).toEqual(["S.\ngo[", "S.\ngo[a]one[", "S.\ngo[a]one[b]two["]);
    expect(trajectories.map(learned)).toEqual(["S.\ngo[A]one[B]two[C]three[D]four[E]"]);
    expect(trajectories[0]).toMatchObject({ id: "r/agent", weight: 1 });
  });
});

describe("lastTurns", () => {
  test("shows the opening and the last turns, each learned from under the prompt it was sampled from", async () => {
    const { trajectories, prompts } = await play(lastTurns(2));
    expect(prompts).toEqual([
      "S.\ngo[",
      "S.\ngo[a]one[",
      "S.\ngo[a]one[b]two[",
      "S.\ngo\none[b]two[c]three[",
      "S.\ngo\ntwo[c]three[d]four[",
    ]);
    expect(trajectories.map(learned)).toEqual([
      "S.\ngo[A]one[B]two[C]",
      "S.\ngo\none[b]two[c]three[D]",
      "S.\ngo\ntwo[c]three[d]four[E]",
    ]);
    expect(trajectories.map(({ id, weight }) => [id, weight])).toEqual([
      ["r/agent/0", 0.6],
      ["r/agent/1", 0.2],
      ["r/agent/2", 0.2],
    ]);
    expect(trajectories.map(({ turns }) => turns.map(({ text }) => text).join())).toEqual(["a,b,c", "d", "e"]);
  });

  test("of none is the opening and what was said last", async () => {
    const { prompts } = await play(lastTurns(0));
    expect(prompts).toEqual(["S.\ngo[", "S.\ngo\none[", "S.\ngo\ntwo[", "S.\ngo\nthree[", "S.\ngo\nfour["]);
  });

  test("of more than there are is everything", async () => {
    expect((await play(lastTurns(9))).trajectories).toEqual((await play(fullContext())).trajectories);
  });

  test("bounds the tokens of a prompt", async () => {
    const { prompts } = await play(lastTurns(1), { limits: { turns: 50 } });
    expect(Math.max(...prompts.map(({ length }) => length))).toBeLessThan(30);
  });

  test.each([-1, 0.5, Number.NaN])("of %s turns is refused", (turns) => {
    expect(() => lastTurns(turns)).toThrow(`bad-context: got the last ${turns} turns`);
  });
});

describe("observationStubs", () => {
  test("shows the opening, all turns, and of what was read only the latest", async () => {
    const { trajectories, prompts } = await play(observationStubs("_"));
    expect(prompts).toEqual([
      "S.\ngo[",
      "S.\ngo[a]one[",
      "S.\ngo[a]_[b]two[",
      "S.\ngo[a]_[b]_[c]three[",
      "S.\ngo[a]_[b]_[c]_[d]four[",
    ]);
    expect(trajectories.map(learned)).toEqual([
      "S.\ngo[A]one[B]",
      "S.\ngo[a]_[b]two[C]",
      "S.\ngo[a]_[b]_[c]three[D]",
      "S.\ngo[a]_[b]_[c]_[d]four[E]",
    ]);
    expect(trajectories.map(({ weight }) => weight)).toEqual([0.4, 0.2, 0.2, 0.2]);
  });

  test("writes the end of turns that a stop string cut", async () => {
    const says = ["<answer>a</answer>"];
    const format = thinkAnswer();
    const { prompts } = await play(observationStubs("_"), { format, limits: { turns: 3 } }, says);
    expect(prompts[2]).toMatch(/go\[<answer>a<\/answer>\]_\[<answer>a<\/answer>\]two\[$/);
  });
});

test("a strategy of one's own may drop turns", async () => {
  const openingAndLatest: Context = {
    name: "opening-and-latest",
    open: () => (history) => (history.length < 3 ? history : [history[0], history.at(-1)!]),
  };
  const { trajectories } = await play(openingAndLatest, { limits: { turns: 3 } });
  expect(trajectories.map(learned)).toEqual(["S.\ngo[A]", "S.\ngo[one[B]", "S.\ngo[two[C]"]);
  expect(trajectories.reduce((sum, { weight }) => sum + weight, 0)).toBeCloseTo(1, 12);
});
