import { LudusError } from "../errors.ts";
import type { CreditNeeds, CreditRow } from "./credit.ts";

/** One rollout of a batch: it counts once in every statistic, whatever its number of rows. */
export interface CreditAttempt {
  readonly reward: number;
  /** The reward less the penalties of its sampled tokens: what schemes that compare whole rollouts compare (verl's sum of token rewards). */
  readonly net: number;
  /** Indices of its rows, in the order of its turns. */
  readonly rows: readonly number[];
}

type Draft = { reward: number; net: number; rows: number[] };

/**
 * The attempts of each group, both in order of appearance. Throws where a row lacks what `needs` names, or where rows of a
 * rollout contradict each other.
 */
export function groupAttempts(rows: readonly CreditRow[], needs: CreditNeeds = {}): CreditAttempt[][] {
  const groups = new Map<string, Map<string, Draft>>();
  for (const [index, row] of rows.entries()) {
    checkRow(row, needs);
    const attempts = groups.get(row.group) ?? new Map<string, Draft>();
    groups.set(row.group, attempts);
    const attempt = attempts.get(row.rollout) ?? { reward: row.reward, net: row.reward, rows: [] };
    attempts.set(row.rollout, attempt);
    const before = attempt.rows.at(-1);
    if (before !== undefined) checkContinuation(row, rows[before]);
    attempt.rows.push(index);
    attempt.net -= penaltyOf(row);
  }
  return Array.from(groups.values(), (attempts) => [...attempts.values()]);
}

/** What is taken off the sampled tokens of `start` to `end - 1`. */
export function penaltyOf({ penalties_T, mask_T }: CreditRow, start = 0, end = mask_T.length): number {
  let sum = 0;
  if (penalties_T !== undefined) for (let t = start; t < end; t++) if (mask_T[t] !== 0) sum += penalties_T[t];
  return sum;
}

function checkRow(row: CreditRow, needs: CreditNeeds): void {
  const T = row.mask_T.length;
  if (!Number.isFinite(row.reward)) refuse(row, `reward ${row.reward}`, "a finite number");
  if (needs.values) checkLength(row, "values_T", T);
  if (needs.ratios) checkLength(row, "ratios_T", T);
  if (needs.weights) checkLength(row, "weights_T", T);
  if (needs.greedyBaseline && !Number.isFinite(row.baseline)) {
    refuse(row, `baseline ${row.baseline}`, "the reward of a greedy rollout of the same task");
  }
}

function checkLength(row: CreditRow, name: "values_T" | "ratios_T" | "weights_T", T: number): void {
  const length = row[name]?.length;
  if (length !== T) refuse(row, length === undefined ? `no ${name}` : `${length} ${name}`, `${T}, as many as tokens`);
}

function checkContinuation(row: CreditRow, before: CreditRow): void {
  if (row.reward !== before.reward) {
    refuse(row, `rewards ${before.reward} and ${row.reward}`, "the total of the rollout in each of its rows");
  }
  if (before.isLast) refuse(row, "a row after the one that is last", "rows of a rollout in the order of its turns");
}

function refuse(row: CreditRow, got: string, expected: string): never {
  throw new LudusError("bad-credit-row", { got: `${got} in rollout ${row.rollout} of group ${row.group}`, expected });
}
