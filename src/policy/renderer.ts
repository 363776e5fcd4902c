import type { Message, ToolSpec } from "../schema/message.ts";
import type { CallFormat } from "./call-format.ts";

/**
 * Messages to tokens, append-only: what is in the context is never rendered again, and what the policy sampled is never
 * re-tokenized.
 *
 *     const prompt = renderer.start([{ role: "user", content: "2+2?" }], []);        // … up to the policy's turn
 *     const sample = await engine.sample({ tokens: prompt, stopTokens: renderer.stopTokens, … });
 *     const more = renderer.next([{ role: "user", content: "And 3+3?" }], { ended: true });
 *     // the context is now prompt + sample.tokens + more
 */
export interface Renderer {
  /** Tokens that end the policy's turn when it samples one. */
  readonly stopTokens: readonly number[];
  /** The prompt, up to the policy's turn. */
  start(messages: readonly Message[], tools: readonly ToolSpec[]): Int32Array;
  /**
   * What follows a turn of the policy: the end of its turn where it did not sample that itself (`ended` false), the template's
   * separators, the new messages, the opening of its next turn.
   */
  next(messages: readonly Message[], turn: { readonly ended: boolean }): Int32Array;
  /** What the policy would have sampled had it said this: for demonstrations. The end of the turn is included. */
  say(text: string): Int32Array;
  /** What the policy said, for environments and people: without the token that ended the turn. */
  read(tokens: Int32Array): string;
  /** A chat template that writes what this renderer and the format do; saved with checkpoints, for other programs. */
  chatTemplate?(format: CallFormat): string;
}
