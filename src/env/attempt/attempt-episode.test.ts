import { getEventListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { defined } from "../../defined.ts";
import { fakeEngine } from "../../engine/fake-engine.ts";
import { byteTokenizer } from "../../policy/byte-tokenizer.ts";
import { compactRenderer } from "../../policy/compact-renderer.ts";
import { thinkAnswer } from "../../policy/formats/think-answer.ts";
import type { Limits } from "../../rollout/limits.ts";
import type { RolloutOptions } from "../../rollout/rollout.ts";
import { runRollout } from "../../rollout/run-rollout.ts";
import { scriptedSpeaker } from "../../rollout/speaker.ts";

import { generated } from "../../task/generated.ts";
import { defineEnv, type EnvDefinition } from "../define-env.ts";
import type { Env } from "../env.ts";
import { playEpisode } from "./attempt-episode.ts";
import { checkPromptsGrow, checkTokens } from "./contract/check-tokens.ts";
import { type ScriptedEngineOptions, scriptedEngine } from "./contract/scripted-engine.ts";

const tokenizer = byteTokenizer({ special: ["<s>", "<e>"], markup: [], eos: "<e>" });
const renderer = compactRenderer({ tokenizer });
const [speak, end] = [256, 257];
const bytes = (text: string) => [...Buffer.from(text)];

interface Guess {
  secret: number;
}

function guess(changes: Partial<EnvDefinition<Guess, { tries: number }>> = {}): Env<Guess, { tries: number }> {
  return defineEnv<Guess, { tries: number }>({
    name: "guess",
    tasks: generated(() => ({ secret: 70 })),
    start: () => ({ state: { tries: 0 }, say: "1-99" }),
    act({ task, state, answer }) {
      state.tries++;
      if (Number(answer) === task.secret) return { done: true };
      return { say: Number(answer) < task.secret ? "up" : "down", reward: -0.125 };
    },
    score: ({ task, answer }) => ({ outcome: Number(answer) === task.secret ? 1 : 0 }),
    limits: { turns: 5 },
    ...changes,
  });
}

interface Attempt extends Partial<RolloutOptions> {
  env?: Env<Guess, { tries: number }>;
  contextLength?: number;
}

async function attempt(
  says: ScriptedEngineOptions["says"],
  { env = guess(), contextLength, ...options }: Attempt = {},
) {
  const given = { tokenizer, renderer, says, ...defined({ contextLength }) };
  const policy = scriptedEngine(given);
  const task = await env.tasks.at("train", 0);
  const rollout = await runRollout(env, task, policy, { id: "r", seed: 5, ...options });
  return { ...rollout, policy, first: rollout.trajectories[0] };
}

describe("a rollout", () => {
  test("records what was read and said, token by token", async () => {
    const { first, stop, policy, trajectories } = await attempt(["50", "70"]);
    expect(stop).toBe("completed");
    expect(trajectories).toHaveLength(1);
    expect([...first.tokens_T]).toEqual([
      ...[...bytes("1-99"), speak, ...bytes("50"), end],
      ...[...bytes("up"), speak, ...bytes("70"), end],
    ]);
    expect([...first.mask_T]).toEqual([0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1]);
    expect(first).toMatchObject({
      id: "r/agent",
      rollout: "r",
      taskId: "generated/train/0",
      role: "agent",
      weights: "policy",
      weight: 1,
      score: { total: 0.875, parts: { outcome: 1, turns: -0.125 }, success: true },
      temperature: 1,
      turns: [
        { text: "50", span: { start: 5, end: 8 }, observation: "up", reward: -0.125 },
        { text: "70", span: { start: 11, end: 14 }, observation: "", reward: 0 },
      ],
    });
    checkTokens(trajectories, policy.samples);
    checkPromptsGrow(policy.samples);
  });

  test("asks the engine for what the options say, with another seed each turn and one cache", async () => {
    const options = { temperature: 0.5, topP: 0.9, topK: 7, limits: { turnTokens: 9 } };
    const { policy, trajectories } = await attempt(["1", "70"], options);
    expect(trajectories[0].truncation).toEqual({ topP: 0.9, topK: 7 });
    const [one, two] = policy.samples.map(({ request }) => request);
    expect(one).toMatchObject({
      temperature: 0.5,
      topP: 0.9,
      topK: 7,
      maxTokens: 9,
      rollout: "r/agent",
      stopTokens: [end],
    });
    expect(two.rollout).toBe("r/agent");
    expect(two.seed).not.toBe(one.seed);
    expect(policy.released).toEqual(["r/agent"]);
  });

  test("says the same again with the same seed, and something else with another", async () => {
    const seeds = async (seed: number) =>
      (await attempt(["1", "2", "70"], { seed })).policy.samples.map(({ request }) => request.seed);
    expect(await seeds(1)).toEqual(await seeds(1));
    expect(await seeds(1)).not.toEqual(await seeds(2));
  });

  test("writes the end of a turn that a stop string cut, and does not learn it", async () => {
    const says = ["<think></think><answer>50</answer>", "<think></think><answer>70</answer>"];
    const { first, policy, trajectories } = await attempt(says, { format: thinkAnswer() });
    const [{ span }] = first.turns as [(typeof first.turns)[0]];
    expect([...first.tokens_T.slice(span.end, span.end + 3)]).toEqual([end, ...bytes("up")]);
    expect([...first.mask_T.slice(span.end - 1, span.end + 1)]).toEqual([1, 0]);
    expect(policy.samples[0].sample.stop).toBe("stop-string");
    checkTokens(trajectories, policy.samples);
  });

  test("of an engine that says anything is recorded as it was sampled", async () => {
    const engine = fakeEngine({
      vocabularySize: tokenizer.vocabularySize,
      // the longer it gets, the likelier it ends
      distribution: ({ length }) => Array.from({ length: 258 }, (_, id) => (id === end ? length : 1 + (id % 7))),
      tokenBytes: Array.from({ length: 258 }, (_, id) => tokenizer.tokenBytes(id)),
    });
    const env = guess({ score: () => 0 });
    for (let seed = 0; seed < 20; seed++) {
      const before = engine.samples.length;
      const limits = { turnTokens: 1000, tokens: 5000 };
      const task = await env.tasks.at("train", seed);
      const { trajectories } = await runRollout(env, task, { engine, renderer }, { id: `${seed}`, seed, limits });
      const [{ tokens_T, mask_T, logprobs_T, turns }] = trajectories as [(typeof trajectories)[0]];
      const requests = engine.samples.slice(before);
      expect(turns).toHaveLength(requests.length);
      for (const [k, { tokens }] of requests.entries()) {
        expect(tokens_T.slice(0, turns[k].span.start)).toEqual(tokens);
        expect(renderer.read(tokens_T.slice(turns[k].span.start, turns[k].span.end))).toBe(turns[k].text);
      }
      const { logprobs_B_T } = await engine.forward({ rows: [{ tokens: tokens_T, mask: mask_T }] });
      expect(logprobs_T).toEqual(logprobs_B_T[0]);
    }
  });

  test("has a trajectory for each role, with the weights it speaks with", async () => {
    const env = guess({
      roles: ["agent", "rival"],
      act: ({ role, turn }) =>
        turn === 3
          ? { done: true, rewards: { agent: 1 } }
          : { say: `${role} spoke`, next: role === "agent" ? "rival" : "agent" },
    });
    const policy = { ...scriptedEngine({ tokenizer, renderer, says: ["a", "b"] }), weights: { rival: "opponent" } };
    const rollout = await runRollout(env, await env.tasks.at("train", 0), policy, { id: "r", seed: 1 });
    expect(rollout.trajectories.map(({ id, weights, weight }) => [id, weights, weight])).toEqual([
      ["r/agent", "policy", 1],
      ["r/rival", "opponent", 1],
    ]);
    for (const { role } of rollout.trajectories) {
      const samples = policy.samples.filter(({ request }) => request.rollout === `r/${role}`);
      checkTokens(
        rollout.trajectories.filter((each) => each.role === role),
        samples,
      );
      checkPromptsGrow(samples);
    }
    expect(rollout.trajectories[0].turns.map(({ reward }) => reward)).toEqual([0, 1]);
    expect(policy.released).toEqual(["r/agent", "r/rival"]);
    expect(policy.samples.map(({ request }) => request.weights)).toEqual(["policy", "opponent", "policy", "opponent"]);
  });

  test("says when each turn was asked for, said and answered, since it began", async () => {
    const { timing } = await attempt(["1", "70"]);
    const { turns = [], sampleMs, totalMs } = timing;
    expect(turns.map(({ role }) => role)).toEqual(["agent", "agent"]);
    const times = [0, ...turns.flatMap(({ startMs, saidMs, endMs }) => [startMs, saidMs, endMs]), totalMs];
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(sampleMs).toBeGreaterThan(0);
    expect(sampleMs).toBeLessThan(totalMs);
  });

  test("is of its task's domain, where it has one", async () => {
    const env = guess();
    const task = await env.tasks.at("train", 0);
    const run = async (given: typeof task) => {
      const policy = scriptedEngine({ tokenizer, renderer, says: ["70"] });
      return (await runRollout(env, given, policy, { id: "r", seed: 1 })).trajectories[0];
    };
    expect(await run({ ...task, domain: "numbers" })).toMatchObject({ domain: "numbers" });
    expect(await run(task)).not.toHaveProperty("domain");
  });

  test("leaves no listener on the signal it was given", async () => {
    const { signal } = new AbortController();
    await attempt(["1", "70"], { signal });
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  test.each([
    ["one of several", [1e-6, -0.5, -2], [0, -0.5, -2]],
    ["all of them", [1e-6, 1e-7, 1e-6], [0, 0, 0]],
    ["none", [-1, -0.5, -2], [-1, -0.5, -2]],
  ])("records a log-probability above 0 as 0: %s", async (_, sampled, recorded) => {
    const env = guess();
    const { engine } = scriptedEngine({ tokenizer, renderer, says: ["70"] });
    const sample: typeof engine.sample = async (request, signal) => ({
      ...(await engine.sample(request, signal)),
      logprobs: Float32Array.from(sampled),
    });
    const policy = { renderer, engine: { ...engine, sample } };
    const { trajectories } = await runRollout(env, await env.tasks.at("train", 0), policy, { id: "r", seed: 1 });
    expect([...trajectories[0].logprobs_T.slice(-3)]).toEqual(recorded);
  });
});

describe("a rollout ends", () => {
  const limits = (given: Partial<Limits>): Attempt => ({ limits: given });
  test.each<[string, string, string[], Attempt, number]>([
    ["completed", "when the environment says so", ["70"], {}, 1],
    ["max-turns", "after its turns", ["1"], limits({ turns: 3 }), 3],
    ["max-tokens", "in a turn that is too long", ["1", "123456"], limits({ turnTokens: 4 }), 2],
    ["max-tokens", "in the turn that uses up its tokens", ["1", "12"], limits({ tokens: 4 }), 2],
    [
      "max-tokens",
      "at its limit, where the context ends too",
      ["123456"],
      { contextLength: 9, limits: { turnTokens: 4 } },
      1,
    ],
    ["max-tokens", "when no token is left for a turn", ["1"], limits({ tokens: 4 }), 2],
    ["context-full", "in the turn that fills the context", ["1", "123456"], { contextLength: 14 }, 2],
    ["context-full", "when a prompt leaves no room", ["1"], { contextLength: 10 }, 1],
    ["context-full", "before it began, where the first prompt is too long", ["1"], { contextLength: 5 }, 0],
  ])("%s %s", async (stop, _, says, options, turns) => {
    const ended = await attempt(says, options);
    expect(ended.stop).toBe(stop);
    expect(ended.failure).toBeUndefined();
    expect(ended.policy.samples).toHaveLength(turns);
    expect(ended.trajectories.map((each) => each.turns.length)).toEqual(turns === 0 ? [] : [turns]);
    checkTokens(ended.trajectories, ended.policy.samples);
  });

  test("within its limits to the token", async () => {
    for (const turnTokens of [1, 2, 3, 4]) {
      for (const tokens of [1, 2, 3, 5, 7]) {
        const { first, policy } = await attempt(["12", "345", "6"], { limits: { turnTokens, tokens } });
        expect(first.mask_T.reduce((a, b) => a + b, 0)).toBeLessThanOrEqual(tokens);
        for (const { sample } of policy.samples) expect(sample.tokens.length).toBeLessThanOrEqual(turnTokens);
      }
    }
  });

  test("with engine-error when sampling fails, and keeps the turns before", async () => {
    const { stop, failure, first } = await attempt((_, turn) => {
      if (turn === 1) throw new Error("out of memory");
      return "1";
    });
    expect(stop).toBe("engine-error");
    expect(failure).toMatch("out of memory");
    expect(first).toMatchObject({ stop, failure, score: { total: 0 }, turns: [{ text: "1" }] });
  });

  test.each([
    ["a log-probability that is no number", { logprobs: Float32Array.of(Number.NaN) }, /NaN of token 0/],
    ["an impossible token", { logprobs: Float32Array.of(Number.NEGATIVE_INFINITY) }, /-Infinity of token 0/],
    ["arrays that do not line up", { versions: new Int32Array(2) }, /1 tokens, 1 log-probabilities, 2 versions/],
    ["too few log-probabilities", { logprobs: new Float32Array(0) }, /1 tokens, 0 log-probabilities, 1 versions/],
    [
      "no token at all",
      { tokens: new Int32Array(0), logprobs: new Float32Array(0), versions: new Int32Array(0) },
      /0 tokens, 0 log-probabilities, 0 versions/,
    ],
  ])("with engine-error after %s", async (_, wrong, message) => {
    const env = guess();
    const { engine } = scriptedEngine({ tokenizer, renderer, says: [""] });
    const sample = async () => ({
      tokens: Int32Array.of(end),
      logprobs: Float32Array.of(-1),
      versions: Int32Array.of(0),
      stop: "stop-token" as const,
      ...wrong,
    });
    const policy = { renderer, engine: { ...engine, sample } };
    const rollout = await runRollout(env, await env.tasks.at("train", 0), policy, { id: "r", seed: 1 });
    expect(rollout).toMatchObject({ stop: "engine-error", failure: expect.stringMatching(message), trajectories: [] });
  });

  test("with engine-error when a message cannot be rendered, and closes the environment", async () => {
    let closed = 0;
    const env = guess({ close: () => void closed++ });
    const next = () => {
      throw new Error("roles must alternate");
    };
    const policy = scriptedEngine({ tokenizer, renderer: { ...renderer, next }, says: ["1"] });
    const rollout = await runRollout(env, await env.tasks.at("train", 0), policy, { id: "r", seed: 1 });
    expect(rollout).toMatchObject({ stop: "engine-error", failure: expect.stringMatching("alternate") });
    expect(rollout.trajectories).toHaveLength(1);
    expect(closed).toBe(1);
  });

  test("with env-crash where even naming the state fails, and the turn is on record", async () => {
    const stateKey = () => {
      throw new Error("no name");
    };
    const { stop, first } = await attempt(["1"], { env: guess({ stateKey }) });
    expect(stop).toBe("env-crash");
    expect(first.turns.map(({ text }) => text)).toEqual(["1"]);
  });

  test("cancelled, before it began and in the middle", async () => {
    const early = await attempt(["1"], { signal: AbortSignal.abort() });
    expect(early).toMatchObject({ stop: "cancelled", trajectories: [] });
    expect(early.policy.samples).toEqual([]);
    const controller = new AbortController();
    const says = (_: unknown, turn: number) => {
      if (turn === 1) controller.abort();
      return "1";
    };
    const { stop, first } = await attempt(says, { signal: controller.signal });
    expect(stop).toBe("cancelled");
    expect(first.turns).toHaveLength(1);
  });

  test("cancelled even where the engine does not listen", async () => {
    const controller = new AbortController();
    const says = () => {
      setTimeout(() => controller.abort(), 5);
      return new Promise<string>(() => {});
    };
    expect(await attempt(says, { signal: controller.signal })).toMatchObject({ stop: "cancelled" });
  });

  test("with episode-timeout when it takes too long, in a turn and while it is scored", async () => {
    const never = () => new Promise<never>(() => {});
    const slow = await attempt(never, { limits: { episodeMs: 5 } });
    expect(slow).toMatchObject({ stop: "episode-timeout", failure: expect.stringMatching("episodeMs") });
    const scored = await attempt(["70"], { env: guess({ score: never }), limits: { episodeMs: 5 } });
    expect(scored).toMatchObject({ stop: "episode-timeout", trajectories: [{ stop: "episode-timeout" }] });
  });
});

test("an environment that opens too late is closed all the same", async () => {
  let closed = 0;
  const start = () => sleep(15, { state: { tries: 0 }, say: "at last" });
  const { stop } = await attempt(["70"], { env: guess({ start, close: () => void closed++ }), limits: { envMs: 2 } });
  expect(stop).toBe("env-timeout");
  expect(closed).toBe(0);
  await sleep(30);
  expect(closed).toBe(1);
});

test("without a limit of time a rollout takes the time it takes", async () => {
  expect(await attempt(["70"], { limits: { episodeMs: Number.POSITIVE_INFINITY } })).toMatchObject({
    stop: "completed",
  });
});

test("an engine that cannot release its cache does not hold the rollout", async () => {
  const env = guess();
  const { engine } = scriptedEngine({ tokenizer, renderer, says: ["70"] });
  for (const release of [() => new Promise<never>(() => {}), () => Promise.reject(new Error("gone"))]) {
    const policy = { renderer, engine: { ...engine, release } };
    const rollout = await runRollout(env, await env.tasks.at("train", 0), policy, { id: "r", seed: 1 });
    expect(rollout.stop).toBe("completed");
  }
});

describe("playEpisode", () => {
  const renderContext = { renderer, engine: { info: { contextLength: 30 } } };
  const run = async (says: string, limits: Partial<Limits>) => {
    const env = guess();
    const speaker = scriptedSpeaker(renderer, () => says);
    const played = await playEpisode(
      env,
      await env.tasks.at("train", 0),
      renderContext,
      { id: "r", seed: 1, limits },
      speaker,
    );
    return played.score();
  };

  test("lets anybody speak, with certainty", async () => {
    const { trajectories, stop } = await run("70", {});
    expect(stop).toBe("completed");
    expect([...trajectories[0].logprobs_T]).toEqual(Array(8).fill(0));
    expect([...trajectories[0].versions_T]).toEqual([-1, -1, -1, -1, -1, 0, 0, 0]);
  });

  test("holds them to the limits as well", async () => {
    const { trajectories, stop } = await run("123456", { turnTokens: 4 });
    expect(stop).toBe("max-tokens");
    expect(trajectories[0].turns[0].text).toBe("1234");
    expect(await run("1".repeat(40), {})).toMatchObject({ stop: "context-full" });
  });
});
