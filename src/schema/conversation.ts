import type { Message, ToolSpec } from "./message.ts";

/** A conversation and the tools its assistant was told of: one line of a dataset for imitation. */
export interface Conversation {
  readonly messages: readonly Message[];
  readonly tools: readonly ToolSpec[];
}
