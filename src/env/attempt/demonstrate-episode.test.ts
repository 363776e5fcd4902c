import { describe, expect, test } from "vitest";
import { byteTokenizer } from "../../policy/byte-tokenizer.ts";
import { compactRenderer } from "../../policy/compact-renderer.ts";
import { thinkAnswer } from "../../policy/formats/think-answer.ts";
import { demonstrate } from "../../rollout/run-rollout.ts";
import type { DemonstrateOptions } from "../../rollout/world.ts";
import { generated } from "../../task/generated.ts";
import { defineEnv, type EnvDefinition } from "../define-env.ts";

const tokenizer = byteTokenizer();
const renderer = compactRenderer({ tokenizer });
const renderContext = { renderer, engine: { info: { contextLength: 2000 } } };

interface Walk {
  goal: number;
}
type WalkDefinition = EnvDefinition<Walk, { at: number }>;

/** Steps to the right until the goal. */
function walk(changes: Partial<WalkDefinition> = {}) {
  return defineEnv<Walk, { at: number }>({
    name: "walk",
    tasks: generated((rng) => ({ goal: 3 + rng.integer(3) })),
    start: () => ({ state: { at: 0 }, say: "0" }),
    act({ state, answer, task }) {
      state.at += answer === "R" ? 1 : -1;
      return state.at === task.goal ? { done: true, reward: 1 } : { say: `${state.at}` };
    },
    expert: () => "R",
    actions: () => ["L", "R"],
    limits: { turns: 12 },
    ...changes,
  });
}

async function show(changes: Partial<WalkDefinition> = {}, options: Partial<DemonstrateOptions> = {}) {
  const env = walk(changes);
  const rollout = await demonstrate(env, await env.tasks.at("train", 1), renderContext, {
    id: "d",
    seed: 4,
    ...options,
  });
  return { ...rollout, words: rollout.trajectories[0]?.turns.map(({ text }) => text).join("") ?? "" };
}

describe("a demonstration", () => {
  test("is the expert's way, written as a policy would have sampled it", async () => {
    const { stop, words, trajectories, task } = await show();
    expect(stop).toBe("completed");
    expect(words).toBe("R".repeat(task.data.goal));
    const [trajectory] = trajectories;
    expect(trajectory).toMatchObject({ weight: 1, score: { success: true } });
    for (const { span } of trajectory.turns) {
      expect(trajectory.tokens_T.slice(span.start, span.end)).toEqual(renderer.say("R"));
      expect([...trajectory.mask_T.slice(span.start, span.end)]).toEqual([1, 1]);
    }
    expect(trajectory.mask_T.reduce((a, b) => a + b, 0)).toBe(2 * task.data.goal);
  });

  test("is written in the format that is asked for", async () => {
    expect((await show({}, { format: thinkAnswer() })).words).toMatch(/^(<think><\/think><answer>R<\/answer>)+$/);
  });

  test("with noise now and then does something else that may be done, the same with the same seed", async () => {
    const { words } = await show({}, { noise: 0.5 });
    expect(words).toMatch(/L/);
    expect(words).toMatch(/R/);
    expect((await show({}, { noise: 0.5 })).words).toBe(words);
    expect((await show({}, { noise: 0.5, seed: 5 })).words).not.toBe(words);
    expect((await show({}, { noise: 1, limits: { turns: 200 } })).words).toMatch(/L.*R|R.*L/);
  });

  test("goes on to the limits when the expert is stuck", async () => {
    const stuck = await show({ expert: () => undefined, actions: () => ["L"] });
    expect(stuck).toMatchObject({ stop: "max-turns", words: "L".repeat(12) });
    // and says nothing at all where nothing is known
    const { actions: _actions, ...silent } = walk();
    const mute = { ...silent, expert: () => undefined };
    const nothing = await demonstrate(mute, (await show()).task, renderContext, { id: "d", seed: 1 });
    expect(nothing.trajectories[0].turns.map(({ text }) => text)).toEqual(Array(12).fill(""));
  });

  test("cannot be noisy where nothing is listed to be said at random", async () => {
    const { actions: _actions, ...silent } = walk();
    const noisy = demonstrate(silent, (await show()).task, renderContext, { id: "d", seed: 1, noise: 0.5 });
    await expect(noisy).rejects.toThrow(/option-without-effect.*noise 0\.5.*`actions`/s);
  });

  test("by an expert that breaks is not to be learned from", async () => {
    const expert = () => {
      throw new Error("lost the map");
    };
    expect(await show({ expert })).toMatchObject({
      stop: "engine-error",
      failure: expect.stringMatching("lost the map"),
    });
  });

  test("stays within the context", async () => {
    const env = walk();
    const small = { renderer, engine: { info: { contextLength: 9 } } };
    const rollout = await demonstrate(env, await env.tasks.at("train", 1), small, { id: "d", seed: 4 });
    expect(rollout.stop).toBe("context-full");
    expect(rollout.trajectories[0].tokens_T.length).toBeLessThanOrEqual(9);
  });
});
