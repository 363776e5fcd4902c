import type { ToolCall, ToolSpec } from "../schema/message.ts";

/**
 * How a policy writes what it wants: thoughts, tool calls, answers. A format is one file in `formats/`.
 *
 *     hermes().parse('<think>first look</think><tool_call>{"name": "search", "arguments": {"query": "tea"}}</tool_call>');
 *     // { thought: "first look", calls: [{ kind: "call", name: "search", arguments: { query: "tea" } }], answer: "", … }
 *     hermes().parse("Green tea.");          // { calls: [], answer: "Green tea.", isWellFormed: true }
 */
export interface CallFormat {
  readonly name: string;
  /** Text that ends a turn even before the policy ends it itself, such as `</search>`. Kept in what was said. */
  readonly stopStrings: readonly string[];
  /**
   * What the system message has to tell. Where it is not empty it tells the tools as well, and the renderer is given none;
   * where it is empty, the chat template tells them in its own way, or nothing need be said.
   */
  describe(tools: readonly ToolSpec[]): string;
  /** Never throws, whatever the text. `tools` are those on offer: a format that leaves out argument names reads by them. */
  parse(text: string, tools?: readonly ToolSpec[]): Said;
  /**
   * The text of a demonstration; `parse(write(said))` gives `said` back, apart from white space around thought and answer.
   * Throws where the format has no way to say it.
   */
  write(said: WantToSay, tools?: readonly ToolSpec[]): string;
  /** How a call of this tool begins, up to its arguments: what exploration makes a turn begin with. */
  open?(tool: string): string;
  /** How a chat template writes a call, for programs that render conversations themselves. */
  readonly template?: CallTemplate;
}

export interface CallTemplate {
  /** Jinja statements that set `ludus.call` to the text of `call`, which has `name` and `arguments`; `tools` are those on offer. */
  readonly write: string;
  /** Between what is said and a call, and between two calls. */
  readonly separator: string;
}

/** What was understood. With calls, `answer` is what was said besides them. */
export interface Said {
  /** Absent where nothing was thought. */
  readonly thought?: string;
  readonly calls: readonly SaidCall[];
  /** What is left when thoughts and calls are taken out, or what stands between the answer tags of formats that have them. */
  readonly answer: string;
  /** Whether the text kept to the format: tags paired, in order, calls readable, nothing else where nothing else may be. */
  readonly isWellFormed: boolean;
}

export type SaidCall =
  | ({ readonly kind: "call" } & ToolCall)
  /** Something that looked like a call, or a turn with neither call nor answer; `problem` is told to the policy. */
  | { readonly kind: "malformed"; readonly text: string; readonly problem: string };

export interface WantToSay {
  readonly thought?: string;
  readonly calls?: readonly ToolCall[];
  readonly answer?: string;
}
