import { describe, expect, test } from "vitest";
import { fakeEngine } from "../engine/fake-engine.ts";
import { goalDials } from "../env/environments/goal-dials.ts";
import { byteTokenizer } from "../policy/byte-tokenizer.ts";
import { compactRenderer } from "../policy/compact-renderer.ts";
import { runGroup } from "../rollout/run-group.ts";
import { isRelabelled } from "../schema/trajectory.ts";
import { fakeGuideContext } from "./fake-guide-context.ts";
import { guideContract } from "./guide.contract.ts";
import { type RewritingOptions, rewriting } from "./rewriting.ts";

describe("rewriting", () => guideContract(() => rewriting({ rewrite: () => undefined })));

const env = goalDials({ dials: 2 });
type Own = Parameters<RewritingOptions<{ goal: string }>["rewrite"]>[0];
/** What was shown was three more than what was said: who reads a failed attempt can tell. */
const rewrite = ({ task }: Own) => [...task.goal].map((digit) => String((Number(digit) + 7) % 10));

const tokenizer = byteTokenizer({ special: ["<s>", "<e>"], markup: [], eos: "<e>" });
const renderer = compactRenderer({ tokenizer });

/** A policy that says "0" whatever it reads, and a group of its attempts. */
async function observed(options: Partial<RewritingOptions<{ goal: string }>> = {}, goal = "47") {
  const engine = fakeEngine({
    vocabularySize: tokenizer.vocabularySize,
    tokenBytes: Array.from({ length: tokenizer.vocabularySize }, (_, id) => tokenizer.tokenBytes(id)),
    distribution(tokens) {
      const weights = new Array<number>(tokenizer.vocabularySize).fill(0);
      weights[tokens.at(-1) === 256 ? "0".charCodeAt(0) : 257] = 1;
      return weights;
    },
  });
  const guide = rewriting<{ goal: string }>({ rewrite, ...options })({ ...fakeGuideContext(env), engine });
  const [picked] = await guide.pick(1);
  const task = { ...picked.task, data: { goal } };
  const group = await runGroup(env, task, { engine, renderer }, { id: "g", seed: 1, size: 3 });
  return { extra: await guide.observe([{ lease: { ...picked, task }, group }]), guide, group, task };
}

test("a failed attempt is played anew with other words, and learned from as a success of its own", async () => {
  const { extra, guide, group, task } = await observed();
  expect(group.trajectories.map(({ score }) => score.success)).toEqual([false, false, false]);
  expect(extra).toHaveLength(1);
  expect(extra[0].task.parent).toBe(task.id);
  const [rewritten, ...others] = extra[0].trajectories;
  expect(others).toEqual([]);
  expect(rewritten.turns.map(({ text }) => text)).toEqual(["1", "4"]);
  expect([rewritten.score.success, isRelabelled(rewritten)]).toEqual([true, true]);
  // what is learned is what was said
  const learned = rewritten.mask_T.reduce((sum, m) => sum + m, 0);
  expect(learned).toBe(rewritten.turns.reduce((sum, { span }) => sum + span.end - span.start, 0));
  expect(guide.metrics()).toMatchObject({ "rewriting/rewritten": 1, "rewriting/refused": 0 });
});

test("words that do not succeed, are too few, or that nobody has, are left out", async () => {
  for (const [words, refused] of [
    [["0", "0"], 1],
    [["1"], 1],
    [undefined, 0],
  ] as const) {
    const { extra, guide } = await observed({ rewrite: () => words });
    expect(extra).toEqual([]);
    expect(guide.metrics()["rewriting/refused"]).toBe(refused);
  }
});

test("a group with a success is left alone, unless told otherwise", async () => {
  // "0" shows 3
  expect((await observed({}, "33")).extra).toEqual([]);
  expect((await observed({ perGroup: 2 })).extra[0].trajectories).toHaveLength(2);
});

test.each([{ rewrite: 3 }, { perGroup: 0 }, { rewrit: rewrite }])("refuses %j", (options) => {
  expect(() => rewriting(options as never)).toThrow(/rewriting/);
});
