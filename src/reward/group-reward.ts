import type { Score } from "../schema/score.ts";
import type { StopReason } from "../schema/stop-reason.ts";
import type { Turn } from "../schema/turn.ts";

/**
 * A reward that compares the attempts of a group instead of scoring each on its own, added to what the environment gave:
 *
 *     train({ env, policy, algorithm: grpo(), steps: 100, groupReward: relativeJudge({ … }) });
 *
 * What it throws is an infrastructure failure of the whole group: it then has no scores, and is not learned from. Held-out
 * evaluations keep to the environment's own score.
 */
export type GroupReward<Data = unknown> = (
  group: ComparedGroup<Data>,
) => readonly GroupScore[] | Promise<readonly GroupScore[]>;

export interface ComparedGroup<Data = unknown> {
  /** Names the group: what is random about the comparison follows from it. */
  readonly id: string;
  readonly task: Data;
  /** The attempts that did not end through the infrastructure's fault; two at least. */
  readonly attempts: readonly ComparedAttempt[];
  readonly signal: AbortSignal;
}

export interface ComparedAttempt {
  readonly turns: readonly Turn[];
  readonly stop: StopReason;
  /** The environment's. */
  readonly score: Score;
}

/** What is added to the score of one attempt, in the order of the attempts. */
export interface GroupScore {
  readonly parts: Readonly<Record<string, number>>;
  /** In place of what the environment said, where it is given. */
  readonly success?: boolean;
}
