import type { Rng } from "../random.ts";

/**
 * Which groups of a batch are worth learning from. Groups whose rewards are all equal teach a group-relative method
 * nothing; a filter keeps, drops, replaces or asks for more.
 *
 * A filter remembers nothing. Where it asks for a refill, roll out that many more groups, append them, and ask again with
 * the whole list; the last choice is the one that counts:
 *
 *     let choice = filter.choose(groups, rng);
 *     while (choice.refill > 0) {
 *       groups.push(...(await rollOut(choice.refill)));
 *       choice = filter.choose(groups, rng);
 *     }
 */
export interface GroupFilter {
  readonly name: string;
  readonly needs: FilterNeeds;
  choose(groups: readonly FilterGroup[], rng: Rng): FilterChoice;
}

export interface FilterNeeds {
  /** Groups of attempts whose rewards can differ: a group of one is never kept. */
  readonly contrast?: boolean;
}

export interface FilterGroup {
  readonly id: string;
  /** One reward per rollout, infrastructure failures left out. */
  readonly rewards_G: readonly number[];
}

export interface FilterChoice {
  /** Indices into `groups`; one may occur several times (replacement), its advantages scaled by `scale`. */
  readonly kept: readonly { readonly index: number; readonly scale: number }[];
  /** How many more groups should be rolled out before the update; 0 when the batch is full or the bound is reached. */
  readonly refill: number;
  /** Shares of all groups: `filter/uniform-groups`, of them `filter/all-fail` and `filter/all-pass`, `filter/kept-groups`. */
  readonly metrics: Readonly<Record<string, number>>;
}
