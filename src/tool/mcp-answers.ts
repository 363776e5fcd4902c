import type { Message } from "../schema/message.ts";

/** What a server asks a model for, in the middle of a call. */
export interface McpSampleRequest {
  /** The conversation, with the server's system prompt first. What is not text is named, with its size. */
  readonly messages: readonly Message[];
  readonly maxTokens: number;
  readonly temperature?: number;
  readonly stopSequences?: readonly string[];
}

export interface McpSampled {
  readonly text: string;
  /** Tells the server who answered; "ludus" where absent. */
  readonly model?: string;
  readonly stopReason?: "endTurn" | "stopSequence" | "maxTokens";
}

/** What a server asks a user for: values that match a JSON Schema. */
export interface McpElicitRequest {
  readonly message: string;
  readonly schema: Readonly<Record<string, unknown>>;
}

/** Fields that are left out of `content` have the defaults of the schema. */
export type McpElicited =
  | { readonly action: "accept"; readonly content: Readonly<Record<string, string | number | boolean | string[]>> }
  | { readonly action: "decline" | "cancel" };

export interface McpAskContext {
  /** Aborted when the answer is no longer wanted: the call is over, or the answer took longer than `timeoutMs`. */
  readonly signal: AbortSignal;
}

type Answer<Request, Value> = (request: Request, context: McpAskContext) => Value | Promise<Value>;

export interface McpAnswers {
  /**
   * Answers a server's `sampling/createMessage`: a policy (`policySampler`), or any function. Throwing a `ToolError` declines.
   * Where absent, servers are told that there is no sampling.
   */
  readonly sample?: Answer<McpSampleRequest, string | McpSampled>;
  /** Answers a server's `elicitation/create` in place of a user. Where absent, servers are told that nobody can be asked. */
  readonly elicit?: Answer<McpElicitRequest, McpElicited>;
}
