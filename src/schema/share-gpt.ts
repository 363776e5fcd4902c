import { z } from "zod";
import { defined } from "../defined.ts";
import { refuseUnknownOptions } from "../known-options.ts";
import type { Conversation } from "./conversation.ts";
import { ForeignCall, ForeignTools, OpenCalls, perhapsText } from "./foreign-json.ts";
import {
  jsonLine,
  knownReadLinesOptions,
  type LineReader,
  type Lines,
  type ReadLinesOptions,
  readJsonLines,
} from "./json-lines.ts";
import type { Message, Role, ToolCall } from "./message.ts";
import { parseWith } from "./parse-with.ts";

/** A row of a ShareGPT dataset. Tools are JSON text; an answer does not say which tool it is from. */
export interface ShareGptRow {
  readonly conversations: readonly { readonly from: string; readonly value: string }[];
  readonly tools?: string;
}

const speakers: Readonly<Record<string, Role | "call">> = {
  human: "user",
  user: "user",
  gpt: "assistant",
  assistant: "assistant",
  model: "assistant",
  chatgpt: "assistant",
  system: "system",
  function_call: "call",
  observation: "tool",
  tool: "tool",
  function_response: "tool",
};

const Calls = z.union([z.array(ForeignCall), ForeignCall.transform((call) => [call])]);

const Turn = z
  .object({ from: z.enum(Object.keys(speakers)), value: z.string().nullish() })
  .transform(({ from, value }, context) => {
    const speaker = speakers[from];
    if (speaker !== "call") return { role: speaker, content: value ?? "", calls: [] as readonly ToolCall[] };
    const calls = perhapsText(Calls).safeParse(value);
    if (!calls.success) {
      const message = 'JSON of a call, {"name": ..., "arguments": {...}}, or of several';
      context.addIssue({ code: "custom", message, path: ["value"] });
      return z.NEVER;
    }
    return { role: "assistant" as const, content: "", calls: calls.data };
  });

const Row = z.object({ conversations: z.array(Turn), system: z.string().nullish(), tools: ForeignTools });

/** Reads one row. A `function_call` right after words of `gpt` is the same message; answers get the names of the calls. */
export function conversationFromShareGpt(value: unknown): Conversation {
  const { conversations, system, tools } = parseWith(Row, value, "a ShareGPT row", "bad-share-gpt-row");
  const messages: Message[] = system == null || system === "" ? [] : [{ role: "system", content: system }];
  const open = new OpenCalls<ToolCall>();
  for (const { role, content, calls } of conversations) {
    const last = messages.at(-1);
    if (role === "assistant") open.ask(calls);
    if (role === "tool") {
      const name = open.answer(() => true)?.name;
      messages.push({ role, content, ...defined({ name }) });
    } else if (calls.length > 0 && last?.role === "assistant" && last.calls === undefined) {
      messages[messages.length - 1] = { ...last, calls };
    } else {
      messages.push({ role, content, ...defined({ calls: calls.length === 0 ? undefined : calls }) });
    }
  }
  return { messages, tools };
}

const names: Readonly<Record<Role, string>> = {
  system: "system",
  user: "human",
  assistant: "gpt",
  tool: "observation",
};

/** Writes one row. Names of answering tools are left out: the format has no place for them. */
export function conversationToShareGpt({ messages, tools }: Conversation): ShareGptRow {
  const conversations = messages.flatMap(({ role, content, calls = [] }) => {
    const said = { from: names[role], value: content };
    if (calls.length === 0) return [said];
    const asked = { from: "function_call", value: JSON.stringify(calls.length === 1 ? calls[0] : calls) };
    return content === "" ? [asked] : [said, asked];
  });
  return { conversations, ...defined({ tools: tools.length === 0 ? undefined : JSON.stringify(tools) }) };
}

/** Conversations from the lines of a ShareGPT dataset. */
export function readShareGptJsonl(lines: Lines, options?: Partial<ReadLinesOptions>): LineReader<Conversation> {
  refuseUnknownOptions("readShareGptJsonl", options, knownReadLinesOptions);
  return readJsonLines(lines, conversationFromShareGpt, options);
}

/** Lines, ends included. */
export async function* writeShareGptJsonl(
  conversations: AsyncIterable<Conversation> | Iterable<Conversation>,
): AsyncGenerator<string> {
  for await (const conversation of conversations) yield jsonLine(conversationToShareGpt(conversation));
}
