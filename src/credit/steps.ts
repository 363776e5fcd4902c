import { type CreditAttempt, penaltyOf } from "./attempts.ts";
import type { CreditRow } from "./credit.ts";

/** A turn in which the policy sampled something. */
export interface Step {
  readonly row: number;
  /** First sampled token: its value is that of the state the turn began in. */
  readonly start: number;
  /** One past the last sampled token. */
  readonly end: number;
  readonly reward: number;
  readonly stateKey: string | undefined;
}

/**
 * The steps of a rollout through all its rows, with what each earned. What remains of the rollout's total is the last
 * step's, if the rollout's last row is there. The reward of a turn without a sampled token goes to the step before it;
 * before the first step there is no one to credit, and it is left out.
 */
export function stepsOf(rows: readonly CreditRow[], attempt: CreditAttempt): Step[] {
  const steps: { -readonly [Key in keyof Step]: Step[Key] }[] = [];
  let given = 0;
  for (const b of attempt.rows) {
    const { mask_T, turns } = rows[b];
    for (const turn of turns) {
      given += turn.reward;
      let start = turn.start;
      let end = turn.end;
      while (start < end && mask_T[start] === 0) start++;
      while (end > start && mask_T[end - 1] === 0) end--;
      const penalty = penaltyOf(rows[b], start, end);
      if (start < end) steps.push({ row: b, start, end, reward: turn.reward - penalty, stateKey: turn.stateKey });
      else if (steps.length > 0) steps.at(-1)!.reward += turn.reward;
    }
  }
  const isWhole = rows[attempt.rows.at(-1)!].isLast;
  if (isWhole && steps.length > 0) steps.at(-1)!.reward += attempt.reward - given;
  return steps;
}

/** What each step earned, in order. */
export function rewardsOf(steps: readonly Step[]): Float64Array<ArrayBuffer> {
  return Float64Array.from(steps, ({ reward }) => reward);
}
