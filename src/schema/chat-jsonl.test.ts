import { expect, test } from "vitest";
import { defined } from "../defined.ts";
import { createRng, type Rng } from "../random.ts";
import { conversationFromChat, conversationToChat, readChatJsonl, writeChatJsonl } from "./chat-jsonl.ts";
import { collect } from "./collect.ts";
import type { Conversation } from "./conversation.ts";
import { fakeText } from "./fake-trajectory.ts";
import { textLines } from "./json-lines.ts";
import type { Message, ToolSpec } from "./message.ts";

const search: ToolSpec = {
  name: "search",
  description: "Finds things.",
  parameters: { type: "object", properties: { query: { type: "string" } }, required: ["query"] },
};

const conversation: Conversation = {
  tools: [search],
  messages: [
    { role: "system", content: "Be brief." },
    { role: "user", content: "Compare a and b." },
    {
      role: "assistant",
      content: "Looking.",
      calls: [
        { name: "search", arguments: { query: "a" } },
        { name: "search", arguments: { query: "b" } },
      ],
    },
    { role: "tool", content: "1", name: "search" },
    { role: "tool", content: "2", name: "search" },
    { role: "assistant", content: "b is more." },
  ],
};

test("a conversation is written in OpenAI's form", () => {
  expect(conversationToChat(conversation)).toEqual({
    tools: [{ type: "function", function: search }],
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: "Compare a and b." },
      {
        role: "assistant",
        content: "Looking.",
        tool_calls: [
          { id: "call_0", type: "function", function: { name: "search", arguments: { query: "a" } } },
          { id: "call_1", type: "function", function: { name: "search", arguments: { query: "b" } } },
        ],
      },
      { role: "tool", content: "1", name: "search", tool_call_id: "call_0" },
      { role: "tool", content: "2", name: "search", tool_call_id: "call_1" },
      { role: "assistant", content: "b is more." },
    ],
  });
});

test("arguments may be written as JSON text", () => {
  const row = conversationToChat(conversation, { arguments: "json" });
  expect(row.messages[2].tool_calls![0].function.arguments).toBe('{"query":"a"}');
  expect(conversationFromChat(row)).toEqual(conversation);
});

test("a row as tables hold it is read: nulls, text for objects, parts for text, bare calls and tools", () => {
  const row = {
    messages: [
      { role: "developer", content: [{ type: "text", text: "Be " }, "brief."], tool_calls: null, name: null },
      { role: "user", content: "Hi" },
      { role: "assistant", content: null, tool_calls: [{ name: "search", arguments: '{"query":"a"}' }] },
      { role: "function", content: "1", name: "search" },
      { role: "assistant", tool_calls: [], content: "Done" },
    ],
    tools: JSON.stringify([{ name: "search" }]),
    source: "elsewhere",
  };
  expect(conversationFromChat(row)).toEqual({
    tools: [{ name: "search", description: "", parameters: { type: "object", properties: {} } }],
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: "Hi" },
      { role: "assistant", content: "", calls: [{ name: "search", arguments: { query: "a" } }] },
      { role: "tool", content: "1", name: "search" },
      { role: "assistant", content: "Done" },
    ],
  });
});

test("an answer without a name is that of the call it refers to, or of the next one", () => {
  const call = (id: string, name: string) => ({ id, type: "function", function: { name, arguments: {} } });
  const row = (answers: object[]) => ({
    messages: [
      { role: "assistant", content: "", tool_calls: [call("x", "first"), call("y", "second")] },
      ...answers.map((answer) => ({ role: "tool", content: "", ...answer })),
    ],
  });
  const names = (answers: object[]) =>
    conversationFromChat(row(answers))
      .messages.slice(1)
      .map(({ name }) => name);
  expect(names([{ tool_call_id: "y" }, { tool_call_id: "x" }])).toEqual(["second", "first"]);
  expect(names([{}, {}, {}])).toEqual(["first", "second", undefined]);
});

const user = { role: "user", content: "" };
const wrong: [string, unknown, string][] = [
  ["no messages", { text: "plain" }, "messages = undefined"],
  ["an unknown role", { messages: [{ role: "narrator", content: "" }] }, 'messages.0.role = "narrator"'],
  [
    "content that is a number",
    { messages: [user, { role: "user", content: 3 }] },
    "messages.1.content = 3, expected a string",
  ],
  ["a picture", { messages: [{ role: "user", content: [{ type: "image" }] }] }, "messages.0.content.0"],
  [
    "arguments that are no JSON",
    { messages: [{ role: "assistant", tool_calls: [{ function: { name: "f", arguments: "{" } }] }] },
    "messages.0.tool_calls.0.arguments",
  ],
  [
    "arguments that are a list",
    { messages: [{ role: "assistant", tool_calls: [{ name: "f", arguments: [1] }] }] },
    "messages.0.tool_calls.0.arguments = [1], expected an object",
  ],
  ["a tool without a name", { messages: [], tools: [{ description: "?" }] }, "tools.0.name"],
  ["tools that are no JSON", { messages: [], tools: "search" }, 'tools = "search", expected JSON'],
];

test.each(wrong)("%s is named", (_name, row, message) => {
  expect(() => conversationFromChat(row)).toThrow(message);
});

test("any conversation comes back from its lines", async () => {
  const rng = createRng(1);
  const conversations = Array.from({ length: 100 }, () => fakeConversation(rng));
  for (const form of ["object", "json"] as const) {
    const lines = textLines(writeChatJsonl(conversations, { arguments: form }));
    expect(await collect(readChatJsonl(lines))).toEqual(conversations);
  }
});

test("a bad line has its number", async () => {
  const reading = collect(readChatJsonl(['{"messages":[]}', '{"messages":1}']));
  await expect(reading).rejects.toThrow("bad-line: got line 2: a chat row with messages = 1, expected array");
});

function fakeConversation(rng: Rng): Conversation {
  const messages: Message[] = rng.next() < 0.5 ? [{ role: "system", content: fakeText(rng) }] : [];
  for (let turn = rng.integer(5); turn > 0; turn--) {
    messages.push({ role: "user", content: fakeText(rng) });
    const calls = Array.from({ length: rng.integer(3) }, () => ({
      name: ["search", "browse"][rng.integer(2)],
      arguments: { query: fakeText(rng), depth: rng.integer(9) },
    }));
    messages.push({
      role: "assistant",
      content: fakeText(rng),
      ...defined({ calls: calls.length > 0 ? calls : undefined }),
    });
    for (const { name } of calls) messages.push({ role: "tool", content: fakeText(rng), name });
  }
  return { messages, tools: rng.next() < 0.5 ? [search] : [] };
}
