import { describe, expect, test } from "vitest";
import { byteTokenizer } from "../../policy/byte-tokenizer.ts";
import { compactRenderer } from "../../policy/compact-renderer.ts";
import { uniformAt } from "../../random.ts";
import { type BeamSearchOptions, beamSearch } from "../../rollout/search/beam-search.ts";
import { bestAttempt, selfConsistency } from "../../rollout/search/best-attempt.ts";
import { mcts } from "../../rollout/search/mcts.ts";
import type { Search } from "../../rollout/search/search.ts";
import { searchedTurn } from "../../rollout/search/searched-turn.ts";
import { withSearch } from "../../rollout/search/with-search.ts";
import type { World } from "../../rollout/world.ts";
import { generated } from "../../task/generated.ts";
import { defineEnv } from "../define-env.ts";
import { shippedEnvs } from "../environments/index.ts";
import { scriptedEngine } from "./contract/scripted-engine.ts";

const tokenizer = byteTokenizer();
const renderer = compactRenderer({ tokenizer });

/** Three turns of a or b; only one way is worth something. */
const maze = (more: object = {}) =>
  defineEnv({
    name: "maze",
    tasks: generated((rng) => ({ way: Array.from({ length: 3 }, () => "ab"[rng.integer(2)]).join("") })),
    start: () => ({ state: { said: "" }, say: "a or b?" }),
    act({ state, answer }) {
      state.said += answer.slice(0, 1);
      return { say: state.said, done: state.said.length === 3 };
    },
    score: ({ task, state }) => (state.said === task.way ? 1 : 0),
    limits: { turns: 3, turnTokens: 4 },
    ...more,
  });

/** a or b with even odds. */
const undecided = () =>
  scriptedEngine({
    tokenizer,
    renderer,
    says: ({ seed, tokens }) => (uniformAt(seed, tokens.length) < 0.5 ? "a" : "b"),
  });

async function successes(search: Search | undefined, tasks = 24) {
  const env = search === undefined ? maze() : withSearch(maze(), search);
  let solved = 0;
  for (let index = 0; index < tasks; index++) {
    const task = await env.tasks.at("test", index);
    const rollout = await (await env.attempt(task, undecided(), { id: `t${index}`, seed: index })).score();
    expect(rollout).toMatchObject({ id: `t${index}`, stop: "completed" });
    expect(rollout.trajectories.map(({ id }) => id)).toEqual([`t${index}/agent`]);
    solved += rollout.trajectories[0].score.success ? 1 : 0;
  }
  return solved / tasks;
}

describe("a search", () => {
  test("finds what the policy alone finds by luck", async () => {
    expect(await successes(undefined)).toBeLessThan(0.4);
    expect(await successes(mcts({ simulations: 40, actions: 10 }))).toBeGreaterThan(0.9);
    expect(await successes(bestAttempt({ attempts: 32 }))).toBeGreaterThan(0.9);
    const reward: Parameters<typeof beamSearch>[0] = { value: ({ trajectories }) => trajectories[0].score.total };
    expect(await successes(beamSearch({ ...reward, width: 8, branches: 8 }))).toBeGreaterThan(0.9);
  });

  test("with a smaller budget finds less, and plays to the end all the same", async () => {
    expect(await successes(mcts({ simulations: 40, budget: { turns: 4 } }))).toBeLessThan(0.7);
    expect(await successes(bestAttempt({ attempts: 32, budget: { tokens: 1 } }))).toBeLessThan(0.4);
  });

  test("gives the same attempt again, and another with another seed", async () => {
    const env = withSearch(maze(), mcts({ simulations: 6 }));
    const task = await env.tasks.at("test", 0);
    const play = async (seed: number) => {
      const rollout = await (await env.attempt(task, undecided(), { id: "r", seed })).score();
      return rollout.trajectories[0].turns.map(({ annotations, text }) => [text, annotations]);
    };
    expect(await play(1)).toEqual(await play(1));
    expect(await play(1)).not.toEqual(await play(2));
  });

  test("asks a critic, and believes it with 1 - alpha", async () => {
    const asked: string[] = [];
    const critic = ({ trajectories }: { trajectories: readonly { turns: readonly { text: string }[] }[] }) => {
      const said = trajectories[0].turns.map(({ text }) => text).join("");
      asked.push(said);
      return said.endsWith("b") ? 1 : 0;
    };
    const env = withSearch(maze(), mcts({ simulations: 12, actions: 8, critic, alpha: 0, value: () => 0.5 }));
    const rollout = await (await env.attempt(await env.tasks.at("test", 0), undecided(), { id: "r", seed: 1 })).score();
    expect(asked.length).toBeGreaterThan(4);
    expect(rollout.trajectories[0].turns.map(({ text }) => text)).toEqual(["b", "b", "b"]);
  });

  test("records what it tried with every turn that it chose", async () => {
    const env = withSearch(maze(), mcts({ simulations: 10, actions: 6 }));
    const rollout = await (await env.attempt(await env.tasks.at("test", 1), undecided(), { id: "r", seed: 3 })).score();
    const [{ tokens_T, turns }] = rollout.trajectories;
    const records = turns.map((turn) => searchedTurn(turn)!);
    expect(records[0].actions.length).toBe(2);
    expect(records[0].actions.reduce((sum, { visits }) => sum + visits, 0)).toBe(10);
    for (const [i, { span }] of turns.entries()) {
      const said = Array.from(tokens_T.subarray(span.start, span.end));
      const most = Math.max(...records[i].actions.map(({ visits }) => visits));
      expect(records[i].actions.find(({ visits }) => visits === most)?.tokens).toEqual(said);
    }
  });

  test("by votes takes the answer that most attempts gave", async () => {
    const env = withSearch(maze({ limits: { turns: 1, turnTokens: 4 } }), selfConsistency({ attempts: 9 }));
    const says = ({ seed }: { seed: number }) => (uniformAt(seed, 0) < 0.7 ? "b" : "a");
    for (let seed = 0; seed < 8; seed++) {
      const policy = scriptedEngine({ tokenizer, renderer, says });
      const played = await env.attempt(await env.tasks.at("test", 0), policy, { id: "r", seed });
      const votes = policy.samples.map(({ sample }) => renderer.read(sample.tokens));
      const count = (vote: string) => votes.filter((each) => each === vote).length;
      const winner = count("a") > count("b") ? "a" : "b";
      expect((await played.score()).trajectories[0].turns[0].text).toBe(winner);
    }
  });
});

describe("what goes wrong", () => {
  test.each([
    [() => mcts({ budget: { turns: 0 } }), "bad-budget: got a budget of 0 turns for mcts"],
    [() => bestAttempt({ budget: { tokens: 0 } }), "bad-budget"],
    [() => selfConsistency({ attempts: 0 }), "attempts 0 of selfConsistency"],
    [() => beamSearch({ width: 1.5 }), "width 1.5"],
    [() => mcts({ simulations: 0 }), "simulations 0"],
    [() => mcts({ alpha: 2 }), "alpha 2"],
    [() => mcts({ simulation: 3 } as object), 'unknown option "simulation"; did you mean "simulations"?'],
    [() => mcts({ budget: { turn: 3 } as object }), 'unknown option "turn"'],
    [() => beamSearch({ widht: 3 } as object), 'did you mean "width"?'],
    [() => bestAttempt({ n: 3 } as object), 'unknown option "n"'],
    [() => selfConsistency({ value: 3 } as object), 'unknown option "value"'],
  ])("options are refused: %s", (make, says) => expect(make).toThrow(says));

  test("an environment that cannot be copied is named, with what to implement, and closed", async () => {
    let closed = 0;
    const env = maze({ close: () => void closed++ });
    const task = await env.tasks.at("test", 0);
    const play = (search: Search) => withSearch(env, search).attempt(task, undecided(), { id: "r", seed: 1 });
    await expect(play(mcts())).rejects.toThrow(/not-copyable: got maze.*Implement `copy\(state\)`/);
    expect(closed).toBe(1);
    const odd = maze({ start: () => ({ state: { said: "", at: new URL("http://a.b") }, say: "a or b?" }) });
    const searched = withSearch(odd, mcts()).attempt(task, undecided(), { id: "r", seed: 1 });
    await expect(searched).rejects.toThrow("an instance of URL at `state.at`");
  });

  test("an environment with `copy` is copied with it, and each copy is closed once", async () => {
    const open = new Set<object>();
    const opened = (said: string) => {
      const state = { said };
      open.add(state);
      return state;
    };
    const env = maze({
      start: () => ({ state: opened(""), say: "a or b?" }),
      copy: ({ said }: { said: string }) => opened(said),
      close: (state: object) => {
        if (!open.delete(state)) throw new Error("closed twice");
      },
    });
    for (const search of [mcts({ simulations: 8 }), beamSearch(), bestAttempt()]) {
      const played = await withSearch(env, search).attempt(await env.tasks.at("test", 0), undecided(), {
        id: "r",
        seed: 1,
      });
      expect((await played.score()).stop).toBe("completed");
      expect(open.size).toBe(0);
    }
  });

  test("a world whose attempts cannot be opened is refused before anything is played", () => {
    const { open: _open, ...world } = maze();
    expect(() => withSearch(world as World, mcts())).toThrow(/not-copyable.*Implement `open/);
  });

  test("a world with several roles is refused: all would play for the first", () => {
    expect(() => withSearch(maze({ roles: ["x", "o"] }), mcts())).toThrow(/bad-config.*x, o/);
  });

  test("what ends in an infrastructure failure is tried once", async () => {
    let failures = 0;
    const env = withSearch(
      maze({
        act: ({ state, answer }: { state: { said: string }; answer: string }) => {
          if (state.said === "" && answer.startsWith("a") && ++failures > 0) throw new Error("the server is down");
          state.said += "b";
          return { say: state.said, done: state.said.length === 3 };
        },
      }),
      mcts({ simulations: 16, actions: 8 }),
    );
    const played = await env.attempt(await env.tasks.at("test", 0), undecided(), { id: "r", seed: 1 });
    const rollout = await played.score();
    expect(rollout.stop).toBe("completed");
    expect(failures).toBe(1);
  });

  test.each([
    ["mcts", (value: () => number) => mcts({ value })],
    ["best attempt", (value: () => number) => bestAttempt({ value, attempts: 2 })],
    ["beam", (value: () => number) => beamSearch({ value })],
  ])("a value that throws or is no number ends the attempt, not the run: %s", async (_, make) => {
    const throws = () => {
      throw new Error("the judge is down");
    };
    for (const [value, says] of [[throws, "the judge is down"] as const, [() => Number.NaN, "worth NaN"] as const]) {
      const env = withSearch(maze(), make(value));
      const played = await env.attempt(await env.tasks.at("test", 0), undecided(), { id: "r", seed: 1 });
      expect(await played.score()).toMatchObject({ stop: "env-crash", failure: expect.stringContaining(says) });
    }
  });

  test("an engine that fails and a stop end the attempt", async () => {
    const env = withSearch(maze(), mcts());
    const task = await env.tasks.at("test", 0);
    const broken = scriptedEngine({
      ...{ tokenizer, renderer },
      says: () => {
        throw new Error("no engine");
      },
    });
    const failed = await (await env.attempt(task, broken, { id: "r", seed: 1 })).score();
    expect(failed).toMatchObject({ stop: "engine-error", failure: expect.stringContaining("no engine") });
    const stopped = await env.attempt(task, undecided(), { id: "r", seed: 1, signal: AbortSignal.abort() });
    expect(await stopped.score()).toMatchObject({ stop: "cancelled" });
  });
});

test("on a copy chance is another: what an action will lead to is not known beforehand", async () => {
  const dice = defineEnv({
    name: "dice",
    tasks: generated(() => ({})),
    start: () => ({ state: { sum: 0 }, say: "?" }),
    act({ state, rng }) {
      state.sum += rng.integer(1000);
      return { say: `${state.sum}` };
    },
    limits: { turns: 2, turnTokens: 4 },
  });
  const attempt = await dice.open!(await dice.tasks.at("train", 0), undecided(), { id: "r", seed: 1 });
  const said = (await attempt.propose(1))!;
  const seen = [];
  for (let seed = 0; seed < 4; seed++) {
    const copy = await attempt.copy({ id: `r~${seed}`, seed });
    await copy.take(said);
    seen.push(copy.soFar()[0].turns[0].observation);
    await copy.played().score();
  }
  await attempt.take(said);
  expect(new Set([...seen, attempt.soFar()[0].turns[0].observation]).size).toBe(5);
  await attempt.played().score();
});

test("most shipped environments can be copied; the others say what is missing", async () => {
  const copied: string[] = [];
  for (const [name, { make }] of Object.entries(shippedEnvs)) {
    const env = make();
    const policy = scriptedEngine({ tokenizer, renderer, says: ["x"], contextLength: 60_000 });
    const attempt = await env.open!(await env.tasks.at("train", 0), policy, { id: "r", seed: 1 });
    try {
      await (await attempt.copy({ id: "c", seed: 2 })).played().score();
      copied.push(name);
    } catch (error) {
      expect(String(error)).toMatch(/not-copyable.*Implement `copy\(state\)`/);
    } finally {
      await attempt.played().score();
    }
  }
  expect(copied).toEqual(expect.arrayContaining(["frozen-lake", "sokoban", "search-qa", "countdown", "key-door"]));
});

test("beams that are kept different hold what near copies of one line crowd out", async () => {
  const env = defineEnv({
    name: "copies",
    tasks: generated(() => null),
    start: () => ({ state: { said: "" }, say: "?" }),
    act({ state, answer }) {
      state.said = answer;
      return { done: true };
    },
    score: ({ state }) => (state.said.startsWith("bbb") ? 1 : 0),
    limits: { turns: 1, turnTokens: 8 },
  });
  // nine in ten begin alike, and end in any digit
  const says = ({ seed, tokens }: { seed: number; tokens: readonly number[] | Int32Array }) => {
    const draw = uniformAt(seed, tokens.length);
    return `${draw < 0.1 ? "bbb" : "aaa"}${Math.floor(draw * 1000) % 10}`;
  };
  const solved = async (diversity: number) => {
    const choose = ({ trajectories }: { trajectories: readonly { score: { total: number } }[] }) =>
      trajectories[0].score.total;
    // as a policy that is sure of one way finds it likelier
    const value: BeamSearchOptions["value"] = ({ trajectories }) =>
      trajectories[0]?.turns[0]?.text.startsWith("aaa") ? 1 : 0;
    const world = withSearch(env, beamSearch({ width: 2, branches: 24, value, diversity, choose }));
    let count = 0;
    for (let i = 0; i < 20; i++) {
      const policy = scriptedEngine({ tokenizer, renderer, says });
      const task = await world.tasks.at("test", i);
      const { trajectories } = await (await world.attempt(task, policy, { id: `t${i}`, seed: i })).score();
      count += trajectories[0].score.success ? 1 : 0;
    }
    return count / 20;
  };
  const [plain, diverse] = [await solved(0), await solved(3)];
  expect(diverse).toBeGreaterThan(0.6);
  expect(diverse - plain).toBeGreaterThan(0.3);
  expect(() => beamSearch({ diversity: -1 })).toThrow(/diversity/);
});
