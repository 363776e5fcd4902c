import type { Message, ToolCall, ToolSpec } from "../../schema/message.ts";
import type { JsonAnswer } from "./json-answer.ts";

/** What somebody asks a model, whichever protocol they speak. */
export interface ChatTurn {
  readonly messages: readonly Message[];
  readonly tools: readonly ToolSpec[];
  /** Whether it must call a tool, or even which one. */
  readonly choice: "auto" | "required" | { readonly name: string };
  /** Of several calls made at once, only the first is told. */
  readonly oneCall: boolean;
  /** Where the answer has to be JSON. Calls are not answers. */
  readonly json?: JsonAnswer | undefined;
  readonly sampling: ChatSampling;
}

export interface ChatSampling {
  readonly temperature: number;
  readonly topP?: number | undefined;
  readonly topK?: number | undefined;
  readonly maxTokens?: number | undefined;
  /** Text that ends the answer and is not part of it. */
  readonly stop: readonly string[];
  readonly seed: number;
  /** Of each token, so many of the most probable alternatives. */
  readonly alternatives: number;
}

/** What a client was told, and will send back as the assistant's message. */
export interface Told {
  readonly content: string;
  readonly calls: readonly ToolCall[];
}

/** Equal for messages that mean the same: a client may send null for nothing, or arguments in another order. */
export function messageKey({ role, content, calls = [] }: Message): string {
  return JSON.stringify([role, content.trim(), calls.map((call) => [call.name, sorted(call.arguments)])]);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, part]) => [key, sorted(part)] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}
