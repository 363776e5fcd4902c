import { describe, expect, test } from "vitest";
import { byteTokenizer } from "../policy/byte-tokenizer.ts";
import { compactRenderer } from "../policy/compact-renderer.ts";
import type { Renderer } from "../policy/renderer.ts";
import type { Message } from "../schema/message.ts";
import { fullContext, lastTurns, observationStubs, type SaidSegment } from "./context.ts";
import { Conversation, type TrajectoryFields } from "./conversation.ts";

const tokenizer = byteTokenizer();
const plain = compactRenderer({ tokenizer });

const fields: TrajectoryFields = {
  rollout: "r",
  taskId: "t",
  role: "agent",
  weights: "policy",
  stop: "completed",
  temperature: 1,
  score: { total: 1, parts: {}, success: true },
};

const user = (content: string) => [{ role: "user", content }] as const;
const turn = (text: string) => ({ role: "agent", text, calls: [], reward: 0, observation: "" });
const said = (length: number, index: number, forced = 0): SaidSegment => ({
  kind: "said",
  tokens: new Int32Array(length).fill(65 + index),
  mask: new Uint8Array(length).fill(1, forced),
  logprobs: new Float32Array(length).fill(-0.5, forced),
  versions: new Int32Array(length).fill(-1, 0, forced).fill(index, forced),
  turn: index,
});

/** A renderer that remembers what it was asked. */
function watched(): { renderer: Renderer; asked: string[] } {
  const asked: string[] = [];
  const renderer: Renderer = {
    ...plain,
    start(messages, tools) {
      asked.push(`start ${messages[0].content}`);
      return plain.start(messages, tools);
    },
    next(messages, given) {
      asked.push(`next ${messages[0].content} ${given.ended}`);
      return plain.next(messages, given);
    },
  };
  return { renderer, asked };
}

test("every message is made into tokens once, and what was said never", () => {
  const { renderer, asked } = watched();
  const conversation = new Conversation(renderer, [], fullContext());
  conversation.read(user("one"), true);
  conversation.say(said(3, 0));
  conversation.read(user("two"), false);
  conversation.say(said(2, 1));
  conversation.read(user("three"), true);
  expect(asked).toEqual(["start one", "next two false", "next three true"]);
});

test("what was read after the last turn is not in the trajectory", () => {
  const conversation = new Conversation(plain, [], fullContext());
  const prompt = conversation.read(user("one"), true);
  conversation.say(said(3, 0));
  conversation.read(user("two"), true);
  const [trajectory] = conversation.trajectories(fields, [turn("AAA")]);
  expect([...trajectory.tokens_T]).toEqual([...prompt, 65, 65, 65]);
  expect(trajectory.turns).toEqual([
    { text: "AAA", calls: [], reward: 0, observation: "", span: { start: prompt.length, end: prompt.length + 3 } },
  ]);
});

test("who never spoke has no trajectory", () => {
  const conversation = new Conversation(plain, [], fullContext());
  expect(conversation.trajectories(fields, [])).toEqual([]);
  conversation.read(user("one"), true);
  expect(conversation.trajectories(fields, [])).toEqual([]);
});

test("pieces weigh as many tokens as were sampled in them: forced ones do not count", () => {
  const conversation = new Conversation(plain, [], lastTurns(0));
  conversation.read(user("one"), true);
  conversation.say(said(5, 0, 4));
  conversation.read(user("two"), true);
  conversation.say(said(3, 1));
  const pieces = conversation.trajectories(fields, [turn("A"), turn("B")]);
  expect(pieces.map(({ weight }) => weight)).toEqual([0.25, 0.75]);
  expect(pieces.map(({ turns }) => turns[0].text)).toEqual(["A", "B"]);
  expect(pieces[0].turns[0].span.end - pieces[0].turns[0].span.start).toBe(5);
});

test("long conversations do not overflow the stack", () => {
  const conversation = new Conversation(plain, [], fullContext());
  for (let i = 0; i < 3_000; i++) {
    conversation.read(user("x"), true);
    conversation.say(said(1, i % 50));
  }
  const turns = Array.from({ length: 50 }, () => turn("A"));
  expect(conversation.trajectories(fields, turns)[0].turns).toHaveLength(3_000);
});

test("pieces in which nothing was sampled share the weight", () => {
  const conversation = new Conversation(plain, [], lastTurns(0));
  for (const index of [0, 1]) {
    conversation.read(user("x"), true);
    conversation.say(said(3, index, 3));
  }
  const pieces = conversation.trajectories(fields, [turn("A"), turn("B")]);
  expect(pieces.map(({ id, weight }) => [id, weight])).toEqual([
    ["r/agent/0", 0.5],
    ["r/agent/1", 0.5],
  ]);
});

test("an observation becomes one stub, however many turns follow", () => {
  const { renderer, asked } = watched();
  const conversation = new Conversation(renderer, [], observationStubs("-"));
  for (const [index, text] of ["one", "two", "three", "four", "five"].entries()) {
    conversation.read(user(text), true);
    conversation.say(said(1, index));
  }
  expect(asked.filter((call) => call === "next - true")).toHaveLength(3);
});

describe("a hint", () => {
  /** The messages that a conversation with a hint begins with. */
  function opening(messages: readonly Message[]): string[] {
    const seen: string[][] = [];
    const start: Renderer["start"] = (given, tools) => {
      seen.push(given.map(({ content }) => content));
      return plain.start(given, tools);
    };
    const guidance = { kind: "environment", text: "hint", failures: [0] };
    new Conversation({ ...plain, start }, [], fullContext(), guidance).read(messages, true);
    return seen.at(-1)!;
  }

  test("is added to the last message that is read, the others stay", () => {
    const messages = ["rules", "example", "question"].map((content) => ({ role: "user", content }) as const);
    expect(opening(messages)).toEqual(["rules", "example", "question\nhint"]);
  });

  test("stands alone where the message is empty", () => {
    expect(opening(user(""))).toEqual(["hint"]);
  });
});
