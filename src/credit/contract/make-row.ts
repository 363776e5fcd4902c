import { expect } from "vitest";
import { defined } from "../../defined.ts";
import type { CreditRow } from "../credit.ts";

interface RowFields extends Partial<Omit<CreditRow, "mask_T" | "turns">> {
  readonly mask: readonly number[];
  /** One per run of sampled tokens; 0 where absent. */
  readonly turnRewards?: readonly number[];
  readonly stateKeys?: readonly (string | undefined)[];
}

/** A row for tests: every run of sampled tokens is a turn. */
export function makeRow({ mask, turnRewards = [], stateKeys = [], ...fields }: RowFields): CreditRow {
  const starts = mask.flatMap((isSampled, t) => (isSampled === 1 && mask[t - 1] !== 1 ? [t] : []));
  const turns = starts.map((start, k) => {
    const length = mask.slice(start).indexOf(0);
    const stateKey = stateKeys[k];
    return {
      start,
      end: length < 0 ? mask.length : start + length,
      reward: turnRewards[k] ?? 0,
      ...defined({ stateKey }),
    };
  });
  const defaults = { group: "a", rollout: "a/0", role: "agent", reward: 0, weight: 1, isLast: true };
  return { ...defaults, ...fields, mask_T: Uint8Array.from(mask), turns };
}

/** One row per reward, all of one group, two sampled tokens each. */
export function makeGroup(rewards_G: readonly number[], fields: Partial<RowFields> = {}): CreditRow[] {
  const group = fields.group ?? "a";
  return rewards_G.map((reward, g) => makeRow({ mask: [0, 1, 1], ...fields, reward, rollout: `${group}/${g}` }));
}

/** The advantage of each row's first sampled token. */
export function firstSampled(advantages_B_T: readonly Float32Array[], rows: readonly CreditRow[]): number[] {
  return rows.map(({ mask_T }, b) => advantages_B_T[b][mask_T.indexOf(1)]);
}

/** For `toEqual`: each number to five digits after the point. */
export function near(numbers: Iterable<number>): unknown[] {
  return Array.from(numbers, (value) => expect.closeTo(value, 5));
}
