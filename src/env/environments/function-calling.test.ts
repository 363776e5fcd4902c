import { expect, test } from "vitest";
import type { Task } from "../../schema/task.ts";
import {
  type FunctionCallingOptions,
  type FunctionCallingTask,
  functionCalling,
  toolRlReferenceOf,
} from "./function-calling.ts";
import { playEpisode } from "./testing/play-episode.ts";
import { toolRlFormat } from "./tool-rl-format.ts";

function tasksOf(options: Partial<FunctionCallingOptions>, count: number, split = "train") {
  const env = functionCalling(options);
  return Promise.all(Array.from({ length: count }, (_, index) => env.tasks.at(split, index)));
}

const weather = { name: "weather", arguments: { city: "Oslo", unit: "C" } };
const table = { name: "reserve", arguments: { place: "Taj", guests: 4, outside: true } };
const task = (...calls: FunctionCallingTask["calls"]): Task<FunctionCallingTask> => {
  return { id: "test", seed: 1, data: { request: "Oslo in C?; table for 4 at Taj outside", calls } };
};

async function scoreOf(text: string, calls: FunctionCallingTask["calls"]) {
  return (await playEpisode(functionCalling(), task(...calls), [text])).scores.agent.total;
}

test("exactly the calls asked for, in any order, are 1", async () => {
  expect(await scoreOf("weather Oslo C\nreserve Taj 4 1", [weather, table])).toBe(1);
  expect(await scoreOf("reserve Taj 4 1\nweather Oslo C", [weather, table])).toBe(1);
  expect(await scoreOf('weather{"unit":"C","city":"Oslo"}', [weather])).toBe(1);
});

test.each([
  ["a wrong value", "weather Oslo F"],
  ["a missing argument", "weather Oslo"],
  ["another tool", "message Oslo C"],
  ["no such tool", "wether Oslo C"],
  ["a call too many", "weather Oslo C\nplay Abba 1"],
  ["the same call twice", "weather Oslo C\nweather Oslo C"],
  ["a word of the wrong type", "reserve Taj four"],
  ["words alone", "=It is warm."],
  ["nothing", ""],
])("%s is 0", async (_, text) => {
  expect(await scoreOf(text, [weather])).toBe(0);
});

test("one of two calls is 0, and so is an optional argument that nobody asked for", async () => {
  expect(await scoreOf("weather Oslo C", [weather, table])).toBe(0);
  const inside = { name: "reserve", arguments: { place: "Taj", guests: 4 } };
  expect(await scoreOf("reserve Taj 4", [inside])).toBe(1);
  expect(await scoreOf("reserve Taj 4 0", [inside])).toBe(0);
});

test("where no tool fits, words are 1 and a call is 0", async () => {
  expect(await scoreOf("=no", [])).toBe(1);
  expect(await scoreOf("=", [])).toBe(0);
  expect(await scoreOf("weather Oslo C", [])).toBe(0);
});

test("nothing is executed, and there is one turn", async () => {
  const { turns, stop } = await playEpisode(functionCalling(), task(weather), ["weather Oslo C\nwether"]);
  expect(turns.length).toBe(1);
  expect(turns[0].calls.map(({ outcome }) => outcome)).toEqual(["ok", "malformed"]);
  expect(turns[0].calls[0].observation).toBe("ok");
  expect(stop).toBe("max-turns");
});

test.each(["compact", "tags"] as const)("the expert meets every request (%s)", async (style) => {
  const env = functionCalling({ style });
  for (const split of ["train", "test"]) {
    for (const each of await tasksOf({ style }, 200, split)) {
      expect((await playEpisode(env, each, "expert")).scores.agent.total).toBe(1);
    }
  }
});

test("requests ask for one call, two or none in the shares given, of every tool", async () => {
  const tasks = await tasksOf({ twoCallShare: 0.3, impossibleShare: 0.1 }, 1000);
  const share = (count: number) => tasks.filter(({ data }) => data.calls.length === count).length / tasks.length;
  expect(Math.abs(share(2) - 0.3)).toBeLessThan(0.05);
  // there are few impossible requests, so that which of them are kept for testing weighs
  expect(Math.abs(share(0) - 0.1)).toBeLessThan(0.05);
  expect(new Set(tasks.flatMap(({ data }) => data.calls.map(({ name }) => name))).size).toBe(8);
  expect(tasks.every(({ data: { calls } }) => new Set(calls.map(({ name }) => name)).size === calls.length)).toBe(true);
});

test("all that must be copied stands in a compact request", async () => {
  for (const { data } of await tasksOf({}, 300)) {
    const values = data.calls
      .flatMap((call) => Object.values(call.arguments))
      .filter((value) => typeof value !== "boolean");
    for (const value of values) expect(data.request).toContain(String(value));
  }
});

test("with fewer tools, what the others are for cannot be done", async () => {
  const tasks = await tasksOf({ tools: 1, impossibleShare: 0.5 }, 200);
  expect(new Set(tasks.flatMap(({ data }) => data.calls.map(({ name }) => name)))).toEqual(new Set(["weather"]));
  expect(tasks.some(({ data }) => data.calls.length === 0 && /play|hear/.test(data.request))).toBe(true);
  expect(() => functionCalling({ tools: 9 })).toThrow("tools");
});

test("no request of training is one of testing", async () => {
  const requests = async (split: string) => (await tasksOf({}, 400, split)).map(({ data }) => data.request);
  const train = new Set(await requests("train"));
  expect((await requests("test")).filter((request) => train.has(request))).toEqual([]);
});

test("another score can be put in its place, and is told what ToolRL compares with", async () => {
  const env = functionCalling({
    style: "tags",
    score: ({ task, turns }) => ({
      format: turns[0].text.startsWith("<think>") ? 1 : 0,
      references: toolRlReferenceOf(task).calls.length,
    }),
  });
  const { scores } = await playEpisode(env, task(weather, table), "expert");
  expect(scores.agent.parts).toEqual({ format: 1, references: 2 });
  expect(toolRlReferenceOf(task(weather).data)).toEqual({
    calls: [{ name: "weather", parameters: { city: "Oslo", unit: "C" } }],
    responds: false,
  });
  expect(toolRlReferenceOf(task().data)).toEqual({ calls: [], responds: true });
});

test("ToolRL's format: one block of calls, a line each, between thought and response", () => {
  const format = toolRlFormat();
  const text =
    '<think>both</think>\n<tool_call>\n{"name": "weather", "parameters": {"city": "Oslo", "unit": "C"}}\n' +
    '{"name": "reserve", "parameters": {"place": "Taj", "guests": 4, "outside": true}}\n</tool_call>\n' +
    "<response>Wait.</response>";
  const want = { thought: "both", calls: [weather, table], answer: "Wait." };
  expect(format.write(want)).toBe(text);
  expect(format.parse(text)).toEqual({
    ...want,
    calls: want.calls.map((call) => ({ kind: "call", ...call })),
    isWellFormed: true,
  });
});

test("what is not in ToolRL's format is read as far as it can be, and marked", () => {
  const format = toolRlFormat();
  const tools = [{ name: "weather", description: "", parameters: { type: "object" } }];
  const read = (text: string) => format.parse(text, tools);
  expect(read("<response>no</response>")).toEqual({ calls: [], answer: "no", isWellFormed: false });
  expect(read("<think>x</think>").calls[0].kind).toBe("malformed");
  expect(read("").calls[0].kind).toBe("malformed");
  const mixed = read('<think>x</think><tool_call>\n{"name": "weather"}\nnot json\n</tool_call>');
  expect(mixed.calls.map(({ kind }) => kind)).toEqual(["call", "malformed"]);
  expect(mixed.isWellFormed).toBe(false);
  expect(read('<think>x</think><tool_call>{"name": "weather"}').calls[0].kind).toBe("malformed");
});
