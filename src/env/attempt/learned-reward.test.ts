import { describe, expect, test } from "vitest";
import { byteTokenizer } from "../../policy/byte-tokenizer.ts";
import { compactRenderer } from "../../policy/compact-renderer.ts";
import { uniformAt } from "../../random.ts";
import { ensemble } from "../../reward/ensemble.ts";
import { aggregatedSteps, outcomeModel, processModel } from "../../reward/learned.ts";
import { stepLabels, stepLabelsOf } from "../../rollout/search/step-labels.ts";
import { withSearch } from "../../rollout/search/with-search.ts";
import type { Trajectory } from "../../schema/trajectory.ts";
import { generated } from "../../task/generated.ts";
import { defineEnv } from "../define-env.ts";
import type { Env } from "../env.ts";
import { Episode } from "../episode.ts";
import { scriptedEngine } from "./contract/scripted-engine.ts";

const tokenizer = byteTokenizer();
const renderer = compactRenderer({ tokenizer });

/** Two turns; both have to be a. */
const twice = defineEnv({
  name: "twice",
  tasks: generated(() => ({})),
  start: () => ({ state: { said: "" }, say: "?" }),
  act({ state, answer }) {
    state.said += answer;
    return { say: "and?", done: state.said.length >= 2 };
  },
  score: ({ state }) => (state.said === "aa" ? 1 : 0),
  limits: { turns: 2, turnTokens: 4 },
});

const says = (chance: number) => ({
  tokenizer,
  renderer,
  says: ({ seed, tokens }: { seed: number; tokens: ArrayLike<number> }) =>
    uniformAt(seed, tokens.length) < chance ? "a" : "b",
});

async function play(env: Env<object, { said: string }>, seed: number, chance = 0.5) {
  const task = await env.tasks.at("train", 0);
  return (await env.attempt(task, scriptedEngine(says(chance)), { id: `r${seed}`, seed })).score();
}

const spokenText = (trajectories: readonly Trajectory[]) => trajectories[0].turns.map(({ text }) => text).join("");

describe("a learned reward", () => {
  test("scores the tokens as they were sampled, and says what it takes for success", async () => {
    const seen: Trajectory[] = [];
    const scorer = {
      score({ trajectories }: { trajectories: readonly Trajectory[] }) {
        seen.push(...trajectories);
        return spokenText(trajectories).startsWith("b") ? 0.75 : 0.25;
      },
    };
    for (let seed = 0; seed < 6; seed++) {
      const { trajectories } = await play({ ...twice, score: outcomeModel(scorer) }, seed);
      expect(seen.at(-1)?.tokens_T).toEqual(trajectories[0].tokens_T);
      expect(seen.at(-1)?.mask_T).toEqual(trajectories[0].mask_T);
      const isLiked = trajectories[0].turns[0].text === "b";
      expect(trajectories[0].score).toMatchObject({ total: isLiked ? 0.75 : 0.25, success: isLiked });
    }
  });

  test("of steps comes to the worst, unless told otherwise", async () => {
    const scorer = { steps: () => [0.5, 0.8] };
    const totalOf = async (options: Parameters<typeof processModel>[1]) =>
      (await play({ ...twice, score: processModel(scorer, options) }, 1)).trajectories[0].score.total;
    expect(await totalOf({})).toBe(0.5);
    expect(await totalOf({ aggregate: "product" })).toBeCloseTo(0.4);
    expect(await totalOf({ aggregate: "mean" })).toBeCloseTo(0.65);
    expect(await totalOf({ aggregate: "last" })).toBe(0.8);
    expect(aggregatedSteps([], "min")).toBe(0);
  });

  test("is a reward like any other: an ensemble of them", async () => {
    const members = [0.2, 0.8].map((value) => outcomeModel<object, { said: string }>({ score: () => value }));
    const { trajectories } = await play({ ...twice, score: ensemble(members, { aggregate: "min" }) }, 1);
    expect(trajectories[0].score).toMatchObject({ total: 0.2, parts: { mean: 0.5 } });
  });

  test("that throws or is out of range ends the attempt without a score; without tokens it says what it needs", async () => {
    const down = () => {
      throw new Error("no scorer");
    };
    for (const score of [down, () => 2, () => Number.NaN]) {
      expect(await play({ ...twice, score: outcomeModel({ score }) }, 1)).toMatchObject({ stop: "env-crash" });
    }
    const env = { ...twice, score: outcomeModel<object, { said: string }>({ score: () => 1 }) };
    const episode = new Episode(env, await env.tasks.at("train", 0), { signal: new AbortController().signal });
    await episode.start();
    const { stop, failure } = await episode.finish({ stop: "completed" });
    expect([stop, failure]).toEqual(["env-crash", expect.stringContaining("no-tokens")]);
    expect(() => outcomeModel({ score: () => 1 }, { succesAt: 1 } as object)).toThrow('did you mean "successAt"?');
    expect(() => processModel({ steps: () => [] }, { agregate: "min" } as object)).toThrow('did you mean "aggregate"?');
  });
});

describe("labels of steps", () => {
  test("are the share of continuations that succeed from there", async () => {
    const env = withSearch(twice, stepLabels({ continuations: 40 }));
    const shares: Record<string, number[]> = { a: [], b: [] };
    for (let seed = 0; seed < 12; seed++) {
      const { trajectories } = await play(env, seed, 0.6);
      const [first, last] = stepLabelsOf(trajectories[0]);
      shares[trajectories[0].turns[0].text].push(first!);
      expect(last).toBe(trajectories[0].score.success ? 1 : 0);
      expect(stepLabelsOf(trajectories[0], "hard")[0]).toBe(trajectories[0].turns[0].text === "a" ? 1 : 0);
    }
    expect(shares.b.every((share) => share === 0)).toBe(true);
    const mean = shares.a.reduce((sum, share) => sum + share, 0) / shares.a.length;
    expect(mean).toBeGreaterThan(0.5);
    expect(mean).toBeLessThan(0.7);
  });

  test("leave the attempt as the policy makes it, and are absent once the budget is spent", async () => {
    const plain = await play(withSearch(twice, stepLabels({ continuations: 1, budget: { turns: 1 } })), 3);
    const [turn] = plain.trajectories[0].turns;
    expect(turn.annotations?.step).toMatchObject({ kind: "math-shepherd", of: 1 });
    expect(stepLabelsOf({ ...plain.trajectories[0], turns: [{ ...turn, annotations: {} }, turn] })[0]).toBeUndefined();
  });

  test.each([
    [() => stepLabels({ continuations: 0 }), "continuations 0"],
    [() => stepLabels({ budget: { turns: 0 } }), "bad-budget"],
    [() => stepLabels({ rollouts: 4 } as object), 'unknown option "rollouts"'],
  ])("options are refused: %s", (make, message) => expect(make).toThrow(message));
});
