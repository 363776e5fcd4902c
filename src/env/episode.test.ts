import { describe, expect, test } from "vitest";
import { z } from "zod";
import { hermes } from "../policy/formats/hermes.ts";
import { react } from "../policy/formats/react.ts";
import { ToolError } from "../tool/tool.ts";
import type { Env } from "./env.ts";
import { Episode } from "./episode.ts";
import {
  call,
  type Definition,
  forever,
  make,
  type Played,
  play,
  type State,
  signal,
  task,
} from "./fixtures/scripted-episode.ts";

const heard = ({ moves }: Played) =>
  moves.map((move) => ("role" in move ? move.messages.map(({ role, content }) => `${role}: ${content}`) : move.stop));
const guess = make({
  act: ({ task, state, answer, turn, turnsLeft }) => {
    state.log.push(answer);
    if (Number(answer) === task) return { say: "right", done: true, reward: 0.5 };
    return { say: `no ${turn} ${turnsLeft}`, reward: -0.25, info: { turn } };
  },
  score: ({ task, answer }) => ({ outcome: Number(answer) === task ? 1 : 0 }),
  limits: { turns: 3 },
});

describe("acting", () => {
  test("what is said is answered until the end, and every turn is kept with its reward", async () => {
    const played = await play(guess, [" 7 ", "42", "never said"]);
    expect(heard(played)).toEqual([["user: begin"], ["user: no 0 2"], "completed"]);
    expect(played.turns).toEqual([
      { role: "agent", text: " 7 ", calls: [], reward: -0.25, observation: "no 0 2", info: { turn: 0 } },
      { role: "agent", text: "42", calls: [], reward: 0.5, observation: "right" },
    ]);
    expect(played.scores).toEqual({ agent: { total: 1.25, parts: { outcome: 1, turns: 0.25 }, success: true } });
  });

  test("without `act` and tools the first words are the answer", async () => {
    const env = make({ score: ({ answer }) => ({ outcome: answer === "hello" ? 1 : 0 }) });
    const played = await play(env, ["hello\n"]);
    expect(played).toMatchObject({ stop: "completed", scores: { agent: { total: 1 } }, turns: [{ text: "hello\n" }] });
  });

  test("the limit of turns ends it, scored", async () => {
    const played = await play(guess, ["1", "2", "3", "4"]);
    expect(heard(played)).toEqual([["user: begin"], ["user: no 0 2"], ["user: no 1 1"], "max-turns"]);
    expect(played.scores.agent).toEqual({ total: -0.75, parts: { outcome: 0, turns: -0.75 }, success: false });
  });

  test("limits and format of the run take the place of the environment's", async () => {
    const limits = { ...guess.limits, turns: 1 };
    const episode = new Episode(guess, task, { signal, limits, format: hermes() });
    await episode.start();
    expect(await episode.step("<think>\nhm\n</think>\n\n41")).toEqual({ stop: "max-turns" });
  });

  test("nothing said is an empty observation", async () => {
    const played = await play(make({ act: () => ({}) }), ["x"]);
    expect(heard(played)).toEqual([["user: begin"], ["user: "]]);
  });

  test("the same seed gives the same chance, whatever the expert was asked", async () => {
    const env = make({
      start: ({ rng }) => ({ state: { log: [], closed: 0 }, say: String(rng.next()) }),
      act: ({ rng }) => ({ say: String(rng.next()) }),
      expert: ({ rng }) => String(rng.next()),
      actions: ({ rng }) => [String(rng.next())],
    });
    const asked = new Episode(env, task, { signal });
    const start = await asked.start();
    const advice = asked.expertSays();
    asked.possibleTexts();
    const alone = await play(env, ["x"]);
    expect([start, await asked.step("x")]).toEqual(alone.moves);
    expect(heard(alone).flat()).not.toContain(`user: ${advice}`);
  });

  test("a turn that was cut off is kept, and not acted on", async () => {
    const episode = new Episode(guess, task, { signal });
    await episode.start();
    episode.noteCutOff("4");
    const { turns, scores } = await episode.finish({ stop: "max-tokens" });
    expect(turns).toEqual([{ role: "agent", text: "4", calls: [], reward: 0, observation: "" }]);
    expect(scores.agent).toMatchObject({ total: 0, success: false });
  });
});

describe("messages", () => {
  test("the system message and the format's instructions come once", async () => {
    const env = make({ system: "Be brief.", format: react(), act: () => ({ say: "on" }) });
    const [first, second] = heard(await play(env, ["Final Answer: x"]));
    expect(first[0]).toMatch(/^system: Be brief\.\n\n/);
    expect(first).toHaveLength(2);
    expect(second).toEqual(["user: on"]);
  });

  test("tools are left to the chat template unless the format tells of them", () => {
    const tools: Definition["tools"] = (tool) => ({
      look: tool({ description: "Looks", input: z.object({}), run: () => "" }),
    });
    const names = (env: Env<number, State>) => new Episode(env, task, { signal }).templateTools.map(({ name }) => name);
    expect(names(make({ tools }))).toEqual(["look"]);
    expect(names(make({ tools, format: react() }))).toEqual([]);
  });

  test("the reminder is added to what is read last", async () => {
    const env = make({
      act: ({ turn }) => ({ say: turn === 0 ? "a" : "" }),
      remind: ({ turns, tokens }) => (turns === 1 ? undefined : `${turns} turns, ${tokens} tokens`),
      limits: { turns: 3, tokens: 100 },
    });
    const episode = new Episode(env, task, { signal });
    expect(await episode.start()).toMatchObject({ messages: [{ content: "begin\n3 turns, 100 tokens" }] });
    expect(await episode.step("x", 30)).toMatchObject({ messages: [{ content: "a\n2 turns, 70 tokens" }] });
    expect(await episode.step("x", 60)).toMatchObject({ messages: [{ content: "" }] });
    expect(episode.turns.map(({ observation }) => observation)).toEqual(["a", ""]);
  });

  test("long observations are cut, those of start, act and tools", async () => {
    const long = "x".repeat(1000);
    const env = make({
      start: () => ({ state: { log: [], closed: 0 }, say: long }),
      act: () => ({ say: long }),
      tools: (tool) => ({ flood: tool({ input: z.object({}), run: () => long }) }),
      limits: { observationChars: 100 },
    });
    const played = await play(env, ["x", call("flood")]);
    for (const [text] of heard(played) as string[][]) {
      expect(text.length).toBeLessThanOrEqual(110);
      expect(text).toMatch(/x\n\[\d+ characters cut\]\nx/);
    }
    expect(played.turns[1].observation.length).toBeLessThanOrEqual(100);
  });
});

describe("tools", () => {
  const env = make({
    tools: (tool) => ({
      add: tool({
        input: z.object({ text: z.string() }),
        run: ({ text }, { state, reward, info }) => {
          state.log.push(text);
          reward(0.5);
          info?.({ added: text, count: state.log.length });
          return state.log.join("");
        },
      }),
      finish: tool({
        input: z.object({ answer: z.string().optional() }),
        run: (input, context) => context.finish(input.answer),
      }),
      refuse: tool({
        input: z.object({}),
        run: () => {
          throw new ToolError("not now");
        },
      }),
      crash: tool({
        input: z.object({}),
        run: () => {
          throw new TypeError("oops");
        },
      }),
      hang: tool({ input: z.object({}), run: forever }),
    }),
    score: ({ answer }) => ({ outcome: answer === "done" ? 1 : 0 }),
  });

  test("are run in order, share the state, and each answers", async () => {
    const played = await play(env, [call("add", { text: "a" }) + call("add", { text: "b" }), "done"]);
    expect(heard(played)[1]).toEqual(["tool: a", "tool: ab"]);
    expect(played.turns[0]).toMatchObject({
      reward: 1,
      observation: "a\nab",
      info: { added: "a\nb", count: 2 },
      calls: [{ name: "add", arguments: { text: "a" }, outcome: "ok" }, { outcome: "ok" }],
    });
    expect(played).toMatchObject({
      stop: "completed",
      scores: { agent: { parts: { outcome: 1, turns: 1 }, success: true } },
    });
  });

  test("may end the episode with an answer; calls after that are not run", async () => {
    const played = await play(env, [call("finish", { answer: "done" }) + call("add", { text: "x" })]);
    expect(played).toMatchObject({ stop: "completed", scores: { agent: { success: true } } });
    expect(played.turns[0].calls.map(({ name }) => name)).toEqual(["finish"]);
    expect(await play(env, [call("finish")])).toMatchObject({ stop: "completed", scores: { agent: { total: 0 } } });
  });

  test("what the policy does wrong is told to it", async () => {
    const played = await play(env, [
      call("ad"),
      call("add", { text: 1 }),
      call("refuse"),
      "<tool_call>\n{oops\n</tool_call>",
    ]);
    expect(played.turns.map(({ calls }) => calls[0].outcome)).toEqual([
      ...["unknown-tool", "bad-arguments", "error", "malformed"],
    ]);
    expect(heard(played)[3]).toEqual(["tool: Error: not now"]);
    expect(played.failure).toBeUndefined();
  });

  test("a call that cannot be read ends the episode where the environment says so", async () => {
    const strict = { ...env, malformed: "stop" as const };
    const played = await play(strict, [`${call("add", { text: "a" })}<tool_call>\n{oops\n</tool_call>`]);
    expect(played).toMatchObject({ stop: "parse-error", scores: { agent: { parts: { turns: 0.5 } } } });
    // an unknown tool can be read
    expect(await play(strict, [call("ad"), "done"])).toMatchObject({ stop: "completed" });
  });

  test("a fault of a tool is no doing of the policy: nothing is scored", async () => {
    expect(await play(env, [call("crash")])).toMatchObject({
      stop: "tool-crash",
      failure: expect.stringContaining("oops"),
    });
    const hung = await play(env, [call("hang")]);
    expect(hung).toMatchObject({ stop: "tool-timeout", scores: { agent: { total: 0, parts: {}, success: false } } });
    expect(hung.turns).toHaveLength(1);
  });

  test("calls of an environment without tools go to `act`", async () => {
    const calls: number[] = [];
    const listening = make({ format: hermes(), act: ({ said }) => ({ done: calls.push(said.calls.length) > 1 }) });
    await play(listening, [call("x"), "y"]);
    expect(calls).toEqual([1, 0]);
  });
});

describe("state keys", () => {
  test("name the state before the turn", async () => {
    const env = make({
      act: ({ state, text }) => ({ done: state.log.push(text) === 2 }),
      stateKey: ({ log }) => log.join(""),
    });
    const { turns } = await play(env, ["a", "b"]);
    expect(turns.map(({ stateKey }) => stateKey)).toEqual(["", "a"]);
  });

  test("one that throws or is no text ends the episode, and the turn is kept: its tokens were sampled", async () => {
    const throwing = make({
      stateKey: () => {
        throw new Error("no key");
      },
    });
    const played = await play(throwing, ["a"]);
    expect(played).toMatchObject({ stop: "env-crash", failure: expect.stringContaining("no key") });
    expect(played.turns).toMatchObject([{ text: "a" }]);
    const numeric = make({ stateKey: () => 7 as unknown as string });
    expect(await play(numeric, ["a"])).toMatchObject({
      stop: "env-crash",
      failure: expect.stringContaining("stateKey"),
    });
  });
});

describe("several roles", () => {
  const duel = make({
    roles: ["first", "second"],
    system: (_, role) => `You are ${role}.`,
    act: ({ role, answer }) => {
      if (answer === "give up")
        return { done: true, reward: -1, rewards: { [role === "first" ? "second" : "first"]: 1 } };
      return { say: answer, next: role === "first" ? "second" : "first" };
    },
    score: ({ role, turns, answer }) => ({
      outcome: role === "first" ? 1 : 0,
      heard: turns.length * 10,
      said: answer.length,
    }),
  });

  test("each is told who it is once, reads what the other said, and is scored for its own turns and words", async () => {
    const played = await play(duel, ["a", "b", "give up"]);
    expect(played.moves.map((move) => ("role" in move ? move.role : move.stop))).toEqual([
      ...["first", "second", "first", "completed"],
    ]);
    expect(heard(played).slice(0, 3)).toEqual([
      ["system: You are first.", "user: begin"],
      ["system: You are second.", "user: a"],
      ["user: b"],
    ]);
    expect(played.scores).toEqual({
      first: { total: 27, parts: { outcome: 1, heard: 20, said: 7, turns: -1 }, success: true },
      second: { total: 12, parts: { outcome: 0, heard: 10, said: 1, turns: 1 }, success: false },
    });
  });

  test("rewards of another role count for its last turn; of one that never spoke, for none", async () => {
    const { turns } = await play(duel, ["a", "b", "c", "give up"]);
    expect(turns.map(({ reward }) => reward)).toEqual([0, 0, 1, -1]);
    expect((await play(duel, ["give up"])).scores.second).toMatchObject({ parts: { outcome: 0, heard: 0, said: 0 } });
  });

  test.each([
    ["next", { next: "third" }],
    ["rewards", { rewards: { third: 1 } }],
  ])("an unknown role in `%s` is a fault of the environment", async (field, acted) => {
    const played = await play(make({ roles: ["first", "second"], act: () => acted }), ["a"]);
    const failure = expect.stringMatching(new RegExp(`${field}.*"third".*first, second`));
    expect(played).toMatchObject({ stop: "env-crash", failure });
  });
});
