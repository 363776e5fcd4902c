import type { Message } from "../schema/message.ts";

/** Something a server has to read. Of a template, `uri` has names in braces to be filled in (RFC 6570). */
export interface McpResource {
  readonly uri: string;
  readonly name: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly isTemplate?: boolean;
}

/** A text that a server writes of given arguments. */
export interface McpPrompt {
  readonly name: string;
  readonly description?: string;
  readonly arguments: readonly { readonly name: string; readonly description?: string; readonly required: boolean }[];
}

/** What a server has besides tools. Everything rejects with a `LudusError`; an answer has the time that calls have. */
export interface McpContext {
  listResources(): Promise<McpResource[]>;
  /** The text of a resource; what is not text is named, with its size. */
  readResource(uri: string): Promise<string>;
  listPrompts(): Promise<McpPrompt[]>;
  /** The messages of a prompt, for `start` of an environment or for a policy. Arguments are texts. */
  getPrompt(name: string, args?: Readonly<Record<string, string>>): Promise<Message[]>;
}
