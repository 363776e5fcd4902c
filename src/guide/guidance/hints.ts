import type { Hint } from "../../schema/annotations.ts";
import type { Message } from "../../schema/message.ts";
import type { Score } from "../../schema/score.ts";
import type { StopReason } from "../../schema/stop-reason.ts";
import type { Task } from "../../schema/task.ts";

/**
 * Writes help for tasks that no attempt solved. Which kinds of help there are, and in which order, is its own affair:
 *
 *     const hints: HintGenerator<Riddle> = {
 *       name: "first-letter",
 *       write: ({ task, earlier }) => ({ kind: "environment", text: task.data.answer.slice(0, 1 + earlier.length) }),
 *     };
 */
export interface HintGenerator<Data = unknown> {
  readonly name: string;
  /** Undefined where there is nothing more to say: the task is left as it is then. What it throws is a warning, too. */
  write(failed: FailedTask<Data>): Hint | undefined | Promise<Hint | undefined>;
}

/** The three kinds of guidance that Agent-RLVR gives, the least telling first. */
export const hintKinds = ["plan", "feedback", "environment"] as const;

export interface FailedTask<Data = unknown> {
  readonly task: Task<Data>;
  /** The last attempts at it, none of which succeeded; guided ones where there were some. */
  readonly attempts: readonly FailedAttempt[];
  /** Hints that did not help, the first one first. */
  readonly earlier: readonly Hint[];
  /** What the policy reads at first. An episode is started to find out. */
  opening(): Promise<readonly Message[]>;
}

/** What the role that is helped said and read after the opening. */
export interface FailedAttempt {
  readonly messages: readonly Message[];
  readonly score: Score;
  readonly stop: StopReason;
}

/** A generator's kinds, less those that were tried; the last is tried again. */
export function kindsLeft<Kind extends string>(kinds: readonly Kind[], earlier: readonly Hint[]): readonly Kind[] {
  return kinds.slice(Math.min(earlier.length, kinds.length - 1));
}
