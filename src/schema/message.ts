export type Role = "system" | "user" | "assistant" | "tool";

export interface ToolCall {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** What environments and people read and write. Tokens are made from messages once, and never from the policy's own words. */
export interface Message {
  readonly role: Role;
  readonly content: string;
  /** What an assistant's message asked for. */
  readonly calls?: readonly ToolCall[];
  /** Of a tool's answer: which tool. */
  readonly name?: string;
}

/** A tool as a model is told of it. */
export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments, always of an object. */
  readonly parameters: Readonly<Record<string, unknown>>;
}
