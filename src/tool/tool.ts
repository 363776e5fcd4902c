import type { Rng } from "../random.ts";
import type { ToolSpec } from "../schema/message.ts";
import type { Turn } from "../schema/turn.ts";
import type { ToolGuard } from "./permission/guard.ts";
import type { Box, BoxSpec, FunctionRunner } from "./sandbox/sandbox.ts";

/**
 * Something an agent may call. Made by `tool()` from a schema and a function:
 *
 *     const search = tool({
 *       description: "Finds pages",
 *       input: z.object({ query: z.string() }),
 *       run: ({ query }, { state }) => state.index.find(query),        // a string, or anything JSON can say
 *     });
 *
 * Throwing a `ToolError` tells the policy what it did wrong. Any other exception is a fault of the tool: the episode ends
 * with `tool-crash` and is not learned from, so that a bug never looks like a bad policy.
 */
export interface Tool<State = unknown, Input = unknown> {
  readonly spec: Omit<ToolSpec, "name">;
  /** Parses arguments. `problem` names the argument that is wrong and what was expected. */
  check(input: unknown): Promise<CheckedInput> | CheckedInput;
  /** The input is what `check` returned. */
  run(input: unknown, context: ToolContext<State>): unknown;
  /** Where the function runs when it must be killable; `run` is not called then. */
  readonly isolated?: FunctionRunner;
  /** Whether the function that runs elsewhere is given a copy of the episode's state, and may change it. */
  readonly withState?: boolean;
  /**
   * What it means when an isolated call was killed: the policy's doing, told to it as an error (`observe`), or a fault of
   * the tool (`stop`, where absent).
   */
  readonly whenKilled?: "observe" | "stop";
  /** Overrides the environment's `toolMs`. */
  readonly timeoutMs?: number;
  /** What decides about each call before it is made, the outermost first. `withPermissions` adds one. */
  readonly guards?: readonly ToolGuard<State>[];
  /** Never there: the type of the arguments, so that an expert's calls are checked. */
  readonly "~input"?: Input;
}

export type CheckedInput =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: string };

export interface ToolContext<State = unknown> {
  /** The episode's state, to read and to change. */
  readonly state: State;
  /** Randomness of this episode: the same seed and the same actions give the same episode. */
  readonly rng: Rng;
  /** Aborted when the call runs out of time or the rollout is cancelled. */
  readonly signal: AbortSignal;
  /**
   * The episode's box, for commands and files: opened by the first call that asks for it, with the `spec` of that call, and the
   * same for all later ones. Closed when the episode ends. Not to be had is a fault of the tool, `tool-crash`.
   */
  box(spec?: BoxSpec): Promise<Box>;
  /** Adds to the reward of this turn. Ignored, like `finish`, once the call has ended. */
  reward(value: number): void;
  /** Kept in the turn's record, for whoever looks at the episode later; the policy is not told. A text that is there already goes on in a new line. */
  info?(facts: NonNullable<Turn["info"]>): void;
  /** Ends the episode after this turn, with what was answered. */
  finish(answer?: string): void;
}

/** Thrown by a tool to tell the policy that the call was wrong; the message is what it reads. */
export class ToolError extends Error {
  override readonly name = "ToolError";
}
