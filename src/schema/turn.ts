import type { TurnAnnotations } from "./annotations.ts";

/** Tokens `start` to `end - 1`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** How a tool call fared. Only `ok` ran to its end. */
export type CallOutcome = "ok" | "error" | "malformed" | "unknown-tool" | "bad-arguments" | "denied";

/** What was decided about a call of a tool under permissions. */
export interface CallPermission {
  readonly allowed: boolean;
  /** Who decided. `fault`: a hook, a rule's function or the person failed, which denies. */
  readonly by: "rule" | "hook" | "person" | "default" | "fault";
  /** Whether the person was asked. */
  readonly asked: boolean;
  readonly reason?: string;
  /** What the tool was given instead of the policy's arguments. */
  readonly rewritten?: Readonly<Record<string, unknown>>;
}

export interface CallRecord {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly outcome: CallOutcome;
  /** What the policy was told, after any cut. */
  readonly observation: string;
  /** Where the tool is under permissions. */
  readonly permission?: CallPermission;
}

/** One time the policy spoke. */
export interface Turn {
  /** The policy's tokens of this turn in its trajectory, forced ones included. */
  readonly span: Span;
  /** The policy's words: for people and environments, never made into tokens again. */
  readonly text: string;
  readonly calls: readonly CallRecord[];
  /** What the environment gave for this turn alone. */
  readonly reward: number;
  /** What the environment said next; empty at the end. */
  readonly observation: string;
  /** Names the state the turn started from, where the environment has such names: equal states are compared (GiGPO). */
  readonly stateKey?: string;
  /** Further facts an environment wants recorded. */
  readonly info?: Readonly<Record<string, number | string | boolean>>;
  /** What the rollout or a guide recorded, such as the hint that was told before. */
  readonly annotations?: TurnAnnotations;
}
