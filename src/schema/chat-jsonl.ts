import { z } from "zod";
import { defined } from "../defined.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import type { Conversation } from "./conversation.ts";
import { ForeignCall, ForeignTools, type OpenAiTool, OpenCalls, toOpenAiTool } from "./foreign-json.ts";
import {
  jsonLine,
  knownReadLinesOptions,
  type LineReader,
  type Lines,
  type ReadLinesOptions,
  readJsonLines,
} from "./json-lines.ts";
import type { Message, Role, ToolCall } from "./message.ts";
import { isJsonObject, parseWith } from "./parse-with.ts";

/** A row of a Hugging Face chat dataset, in OpenAI's form: what `apply_chat_template` and TRL take. */
export interface ChatRow {
  readonly messages: readonly ChatRowMessage[];
  readonly tools?: readonly OpenAiTool[];
}

export interface ChatRowMessage {
  readonly role: Role;
  readonly content: string;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly type: "function";
    readonly function: { readonly name: string; readonly arguments: ToolCall["arguments"] | string };
  }[];
  readonly name?: string;
  readonly tool_call_id?: string;
}

export interface ChatExportOptions {
  /** Chat templates want objects; OpenAI, and `datasets` where tools have different parameters, want their JSON. */
  arguments: "object" | "json";
}

const knownChatExportOptions: KnownOptions<ChatExportOptions> = { arguments: true };

const defaults: ChatExportOptions = { arguments: "object" };

const roles: Readonly<Record<string, Role>> = { developer: "system", function: "tool" };

const Content = z.preprocess(
  (value) => (Array.isArray(value) ? value : (value ?? "")),
  z
    .custom<string | unknown[]>((value) => typeof value === "string" || Array.isArray(value), "a string or parts")
    .transform((value, context) => {
      if (typeof value === "string") return value;
      const texts = value.map((part) => (isJsonObject(part) && part.type === "text" ? part.text : part));
      const wrong = texts.findIndex((text) => typeof text !== "string");
      if (wrong >= 0) context.addIssue({ code: "custom", message: "a part of text", path: [wrong] });
      return texts.join("");
    }),
);

const Call = z.preprocess(
  (value) => (isJsonObject(value) && isJsonObject(value.function) ? { id: value.id, ...value.function } : value),
  z.intersection(ForeignCall, z.object({ id: z.string().nullish() })),
);

const Row = z.object({
  messages: z.array(
    z.object({
      role: z.preprocess(
        (role) => (typeof role === "string" ? (roles[role] ?? role) : role),
        z.enum(["system", "user", "assistant", "tool"]),
      ),
      content: Content,
      tool_calls: z.array(Call).nullish(),
      name: z.string().nullish(),
      tool_call_id: z.string().nullish(),
    }),
  ),
  tools: ForeignTools,
});

/** Reads one row. An answer that names no tool is given the name of the call it answers. */
export function conversationFromChat(value: unknown): Conversation {
  const { messages, tools } = parseWith(Row, value, "a chat row", "bad-chat-row");
  const open = new OpenCalls<{ name: string; id?: string | null | undefined }>();
  const read = messages.map(({ role, content, tool_calls, name, tool_call_id }): Message => {
    if (role === "assistant") open.ask(tool_calls ?? []);
    const answered = role === "tool" ? open.answer(({ id }) => id != null && id === tool_call_id)?.name : undefined;
    const named = name ?? answered;
    const calls = tool_calls?.map((call) => ({ name: call.name, arguments: call.arguments }));
    return {
      role,
      content,
      ...defined({ calls: calls === undefined || calls.length === 0 ? undefined : calls, name: named }),
    };
  });
  return { messages: read, tools };
}

/** Writes one row. Calls get ids in order, and the answers to them refer to those. */
export function conversationToChat(conversation: Conversation, options: Partial<ChatExportOptions> = {}): ChatRow {
  refuseUnknownOptions("conversationToChat", options, knownChatExportOptions);
  const { messages, tools } = conversation;
  const { arguments: form } = { ...defaults, ...options };
  const open = new OpenCalls<{ name: string; id: string }>();
  let count = 0;
  const rows = messages.map(({ role, content, calls, name }): ChatRowMessage => {
    const named = (calls ?? []).map((call) => ({ ...call, id: `call_${count++}` }));
    if (role === "assistant") open.ask(named);
    const answered = role === "tool" ? open.answer((call) => call.name === name)?.id : undefined;
    const toolCalls = named.map(({ id, name, arguments: given }) => ({
      id,
      type: "function" as const,
      function: { name, arguments: form === "json" ? JSON.stringify(given) : given },
    }));
    return {
      role,
      content,
      ...defined({ tool_calls: toolCalls.length === 0 ? undefined : toolCalls, name, tool_call_id: answered }),
    };
  });
  return { messages: rows, ...defined({ tools: tools.length === 0 ? undefined : tools.map(toOpenAiTool) }) };
}

/** Conversations from the lines of a Hugging Face chat dataset. */
export function readChatJsonl(lines: Lines, options?: Partial<ReadLinesOptions>): LineReader<Conversation> {
  refuseUnknownOptions("readChatJsonl", options, knownReadLinesOptions);
  return readJsonLines(lines, conversationFromChat, options);
}

/** Lines, ends included. */
export async function* writeChatJsonl(
  conversations: AsyncIterable<Conversation> | Iterable<Conversation>,
  options?: Partial<ChatExportOptions>,
): AsyncGenerator<string> {
  refuseUnknownOptions("writeChatJsonl", options, knownChatExportOptions);
  for await (const conversation of conversations) yield jsonLine(conversationToChat(conversation, options));
}
