import { defined } from "../defined.ts";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import type { Message, ToolSpec } from "../schema/message.ts";
import { type ChatSuffix, chatSuffix, question, toolAnswer } from "./chat-suffix.ts";
import type { ChatMessage, RenderChatOptions } from "./chat-template.ts";
import { chatTemplateOf, encodeChat } from "./encode-chat.ts";
import { turnTokens } from "./guarded-chat.ts";
import { joinTokens } from "./join-tokens.ts";
import { ownWords } from "./own-words.ts";
import type { Renderer } from "./renderer.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { bodyOf, trainedTemplate } from "./trained-template.ts";

export interface ChatRendererOptions extends Pick<RenderChatOptions, "variables" | "now"> {
  tokenizer: Tokenizer;
  /** The tokenizer's own by default. */
  template?: string;
}

const knownChatRendererOptions: KnownOptions<ChatRendererOptions> = {
  tokenizer: true,
  template: true,
  now: true,
  variables: true,
};

/**
 * Any Hugging Face chat template, turn by turn. A template that cannot be continued so is refused here. Tool answers that it has
 * no place for become the user's words.
 */
export function chatRenderer(options: ChatRendererOptions): Renderer {
  refuseUnknownOptions("chatRenderer", options, knownChatRendererOptions);
  const { tokenizer } = options;
  const template = chatTemplateOf(tokenizer, options.template);
  const words = ownWords(tokenizer);
  const suffix = chatSuffix({ ...options, template });
  const end = turnEnd(tokenizer, suffix);
  const chat = (messages: readonly Message[]) => chatMessages(messages, suffix.hasToolTurns);
  const after = remember((messages: readonly Message[]) => suffix.after(chat(messages), true));
  // all attempts of a group begin with the same words
  const first = remember((messages: readonly Message[], tools: readonly ToolSpec[]) => {
    const given = tools.length === 0 ? {} : { tools: tools.map(chatTool) };
    return encodeChat({ ...options, template, messages: chat(messages), ...given, addGenerationPrompt: true });
  });
  return {
    stopTokens: end.stopTokens,
    start(messages, tools) {
      if (tools.length > 0) checkToolsAreTold(template);
      return first(messages, tools).slice();
    },
    next(messages, { ended }) {
      const tokens = after(messages);
      const length = end.lengthIn(tokens);
      if (ended) return tokens.slice(length);
      return length > 0 ? tokens.slice() : joinTokens(end.tokens, tokens);
    },
    say: (text) => joinTokens(words.encode(text), end.tokens),
    chatTemplate(format) {
      const { variables } = options;
      // such a template tells tools and writes calls in the same characters: it stays the model's own
      const body = bodyOf(template);
      const isSame = format.name === "hermes" && format.describe([anyTool]) === "" && body.includes("<tool_call>");
      const { hasToolTurns } = suffix;
      if (isSame && hasToolTurns && variables === undefined) return body;
      return trainedTemplate({ renderer: "chat", format, body, hasToolTurns, ...defined({ variables }) });
    },
    read: (tokens) => words.decode(endsWith(tokens, end.tokens) ? tokens.slice(0, -end.tokens.length) : tokens),
  };
}

const anyTool: ToolSpec = { name: "tool", description: "", parameters: {} };

interface TurnEnd {
  /** What a turn is ended with. */
  readonly tokens: Int32Array;
  readonly stopTokens: readonly number[];
  /** How many of the tokens after a turn do nothing but end it. */
  lengthIn(tokens: Int32Array): number;
}

/** Most templates end a turn with a token; some, as GLM's, only open the next one, and that opening is what models sample. */
function turnEnd(tokenizer: Tokenizer, suffix: ChatSuffix): TurnEnd {
  const turnIds = turnTokens(tokenizer);
  const eos = tokenizer.specialTokens.eos?.id;
  const stops = (ids: readonly (number | undefined)[]) => [...new Set(ids.filter((id) => id !== undefined))];
  const alone = suffix.after([], false);
  const closing = alone.slice(0, alone.findIndex((id) => turnIds.has(id)) + 1);
  if (closing.length > 0) {
    const lengthIn = (tokens: Int32Array) => (startsWith(tokens, closing) ? closing.length : 0);
    return { tokens: closing, stopTokens: stops([closing.at(-1), eos]), lengthIn };
  }
  const followers = suffix.hasToolTurns ? [question, toolAnswer] : [question];
  const openings = followers.map((message) => suffix.after([message], true)[0]).filter((id) => turnIds.has(id ?? -1));
  const end = openings[0] ?? eos;
  if (end === undefined) {
    throw new LudusError("turn-end-missing", {
      got: "a chat template that ends turns with no control token, and a tokenizer without eos",
      expected: "one of the two: a policy must be able to end its turn",
    });
  }
  const lengthIn = (tokens: Int32Array) => (turnIds.has(tokens[0] ?? -1) ? 1 : 0);
  return { tokens: Int32Array.of(end), stopTokens: stops([...openings, eos]), lengthIn };
}

function startsWith(tokens: Int32Array, first: Int32Array): boolean {
  return first.every((id, index) => tokens[index] === id);
}

function endsWith(tokens: Int32Array, last: Int32Array): boolean {
  return tokens.length >= last.length && startsWith(tokens.subarray(tokens.length - last.length), last);
}

function checkToolsAreTold(template: string): void {
  if (/\btools\b/.test(template)) return;
  throw new LudusError("tools-untold", {
    got: "tools, and a chat template that does not write them",
    expected: "a template that does, or a format that tells them",
    hint: "hermes({ describeTools: true }) and react() tell them in the system message.",
  });
}

function chatTool(tool: ToolSpec): unknown {
  return { type: "function", function: tool };
}

function chatMessages(messages: readonly Message[], hasToolTurns: boolean): ChatMessage[] {
  const chat: { role: string; content: string; [field: string]: unknown }[] = [];
  for (const { calls, ...message } of messages) {
    if (message.role !== "tool" || hasToolTurns) {
      const toolCalls = calls?.map((call) => ({ type: "function", function: call }));
      chat.push({ ...message, ...defined({ tool_calls: toolCalls }) });
      continue;
    }
    const content = `<tool_response>\n${message.content}\n</tool_response>`;
    const last = chat.at(-1);
    // templates without tool turns often refuse two user turns in a row
    if (last?.role === "user") last.content += `\n${content}`;
    else chat.push({ role: "user", content });
  }
  return chat;
}

const remembered = 1024;

/** Environments repeat observations, and rendering a template costs far more than a lookup. */
function remember<Given extends readonly unknown[]>(make: (...given: Given) => Int32Array) {
  const known = new Map<string, Int32Array>();
  return (...given: Given): Int32Array => {
    const key = JSON.stringify(given);
    const tokens = known.get(key) ?? make(...given);
    // least recently used: a Map keeps insertion order, so the first entry is evicted
    known.delete(key);
    known.set(key, tokens);
    if (known.size > remembered) known.delete(known.keys().next().value!);
    return tokens;
  };
}
