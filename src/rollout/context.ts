import { LudusError } from "../errors.ts";
import type { Renderer } from "../policy/renderer.ts";
import type { Message, ToolSpec } from "../schema/message.ts";

/** A stretch of a conversation: what was read, or one turn of the policy. Compared by identity: it never changes. */
export type Segment = ReadSegment | SaidSegment;

export interface ReadSegment {
  readonly kind: "read";
  readonly tokens: Int32Array;
  readonly messages: readonly Message[];
  /** Whether the turn before it ended by itself. */
  readonly ended: boolean;
}

export interface SaidSegment {
  readonly kind: "said";
  readonly tokens: Int32Array;
  /** 1 where sampled, 0 where forced. */
  readonly mask: Uint8Array;
  readonly logprobs: Float32Array;
  readonly versions: Int32Array;
  /** Which turn of the episode it is. */
  readonly turn: number;
}

/**
 * What of the past a policy sees. It is given all segments so far and returns those of the next prompt; stretches that were
 * read may be replaced, what was said may be left out but never written anew. When the result does not continue the last
 * prompt, a new trajectory begins, in which only what is sampled from then on has mask 1.
 */
export interface Context {
  readonly name: string;
  /** Called once for each conversation: what it returns may remember segments it made. */
  open(render: ContextRender): (history: readonly Segment[]) => readonly Segment[];
}

export interface ContextRender {
  readonly renderer: Renderer;
  readonly tools: readonly ToolSpec[];
}

/** Everything. */
export function fullContext(): Context {
  return { name: "full", open: () => (history) => history };
}

/** The opening and the last `turns` turns with what was read around them (RAGEN's context window). */
export function lastTurns(turns: number): Context {
  if (!Number.isInteger(turns) || turns < 0) {
    throw new LudusError("bad-context", { got: `the last ${turns} turns`, expected: "a whole number of at least 0" });
  }
  return {
    name: `last-${turns}-turns`,
    open({ renderer, tools }) {
      return (history) => {
        const first = history[0] as ReadSegment;
        // history is read, said, read, said, …, read
        const start = history.length - 1 - 2 * turns;
        if (start <= 0) return history;
        const entry = history[start] as ReadSegment;
        const messages = [...first.messages, ...entry.messages];
        const opening: ReadSegment = { kind: "read", messages, ended: true, tokens: renderer.start(messages, tools) };
        return [opening, ...history.slice(start + 1)];
      };
    },
  };
}

/**
 * Every observation but the opening and the latest is replaced by a stub; all turns stay (WebAgent-R1's dynamic compression).
 * There the last compressed text is trained on as a whole, under prompts that the actions were never sampled from; here each
 * turn is trained under the prompt it was sampled from.
 */
export function observationStubs(stub = "** Simplified html **"): Context {
  return {
    name: "observation-stubs",
    open({ renderer }) {
      const stubs = new Map<ReadSegment, ReadSegment>();
      const replace = (segment: ReadSegment): ReadSegment => {
        const known = stubs.get(segment);
        if (known !== undefined) return known;
        const messages = segment.messages.map((message) => ({ ...message, content: stub }));
        const made = { ...segment, messages, tokens: renderer.next(messages, { ended: segment.ended }) };
        stubs.set(segment, made);
        return made;
      };
      return (history) =>
        history.map((segment, i) =>
          segment.kind === "read" && i > 0 && i < history.length - 1 ? replace(segment) : segment,
        );
    },
  };
}
