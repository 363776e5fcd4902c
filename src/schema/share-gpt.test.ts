import { expect, test } from "vitest";
import { collect } from "./collect.ts";
import type { Conversation } from "./conversation.ts";
import { textLines } from "./json-lines.ts";
import {
  conversationFromShareGpt,
  conversationToShareGpt,
  readShareGptJsonl,
  writeShareGptJsonl,
} from "./share-gpt.ts";

const search = { name: "search", description: "Finds things.", parameters: { type: "object", properties: {} } };

const conversation: Conversation = {
  tools: [search],
  messages: [
    { role: "system", content: "Be brief." },
    { role: "user", content: "Which is more?\n東京" },
    { role: "assistant", content: "", calls: [{ name: "search", arguments: { query: "a" } }] },
    { role: "tool", content: "1", name: "search" },
    {
      role: "assistant",
      content: "And more.",
      calls: [
        { name: "search", arguments: { query: "b" } },
        { name: "browse", arguments: {} },
      ],
    },
    { role: "tool", content: "2", name: "search" },
    { role: "tool", content: "3", name: "browse" },
    { role: "assistant", content: "b" },
  ],
};

const row = {
  conversations: [
    { from: "system", value: "Be brief." },
    { from: "human", value: "Which is more?\n東京" },
    { from: "function_call", value: '{"name":"search","arguments":{"query":"a"}}' },
    { from: "observation", value: "1" },
    { from: "gpt", value: "And more." },
    { from: "function_call", value: '[{"name":"search","arguments":{"query":"b"}},{"name":"browse","arguments":{}}]' },
    { from: "observation", value: "2" },
    { from: "observation", value: "3" },
    { from: "gpt", value: "b" },
  ],
  tools: JSON.stringify([search]),
};

test("a conversation is written and read", () => {
  expect(conversationToShareGpt(conversation)).toEqual(row);
  expect(conversationFromShareGpt(row)).toEqual(conversation);
});

test("a conversation comes back from its lines, and a bad line has its number", async () => {
  const lines = textLines(writeShareGptJsonl([conversation, { messages: [], tools: [] }]));
  expect(await collect(readShareGptJsonl(lines))).toEqual([conversation, { messages: [], tools: [] }]);
  const reader = readShareGptJsonl(["{}", JSON.stringify(row)], { badLines: "skip" });
  expect(await collect(reader)).toEqual([conversation]);
  expect(reader.firstSkipped?.message).toContain("line 1: a ShareGPT row with conversations = undefined");
});

test("other names of the speakers, a column for the system prompt and arguments as text are read", () => {
  const other = {
    system: "Be brief.",
    tools: "",
    conversations: [
      { from: "user", value: "Hi" },
      { from: "model", value: "Hm" },
      { from: "function_call", value: '{"name":"f","arguments":"{\\"x\\":1}"}' },
      { from: "tool", value: "1" },
      { from: "assistant", value: null, weight: 0 },
    ],
  };
  expect(conversationFromShareGpt(other)).toEqual({
    tools: [],
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: "Hi" },
      { role: "assistant", content: "Hm", calls: [{ name: "f", arguments: { x: 1 } }] },
      { role: "tool", content: "1", name: "f" },
      { role: "assistant", content: "" },
    ],
  });
});

const turns = (from: string, value: unknown) => ({
  conversations: [
    { from: "human", value: "" },
    { from, value },
  ],
});
const wrong: [string, unknown, string][] = [
  ["an unknown speaker", turns("narrator", ""), 'conversations.1.from = "narrator", expected one of "human"|'],
  ["words that are a number", turns("gpt", 3), "conversations.1.value = 3"],
  ["a call that is no JSON", turns("function_call", "f(1)"), 'conversations.1.value = "f(1)", expected JSON of a call'],
  ["a call without arguments", turns("function_call", '{"name":"f"}'), "conversations.1.value"],
];

test.each(wrong)("%s is named", (_name, value, message) => {
  expect(() => conversationFromShareGpt(value)).toThrow(message);
});
