import type { CallOutcome, CallPermission } from "../../schema/turn.ts";

/** A call whose arguments the tool has accepted. */
export interface GuardedCall<State = unknown> {
  readonly tool: string;
  /** As the policy wrote them, or as a guard rewrote them. */
  readonly arguments: Readonly<Record<string, unknown>>;
  /** The same as the tool reads them: parsed by its schema, with defaults. */
  readonly value: unknown;
  readonly state: State;
  /** Aborted when the call runs out of time or the rollout is cancelled. */
  readonly signal: AbortSignal;
}

/** `value` is what the tool is called with, where it is allowed. */
export interface GuardDecision {
  readonly permission: CallPermission;
  readonly value: unknown;
}

/** Decides about calls of a tool. Throwing, or not answering in time, denies the call. */
export interface ToolGuard<State = unknown> {
  before(call: GuardedCall<State>): GuardDecision | Promise<GuardDecision>;
  /** What the policy reads instead of the observation; undefined leaves it. Throwing withholds the observation. */
  after?(call: GuardedCall<State>, told: CallEnd): string | undefined | Promise<string | undefined>;
}

/** How a call fared, before it is told. */
export interface CallEnd {
  readonly outcome: CallOutcome;
  readonly observation: string;
}
