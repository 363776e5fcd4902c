import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import type { Rng } from "../random.ts";
import { filterChoice, type PassOptions, passDefaults, variedGroups } from "./filter-choice.ts";
import type { FilterGroup, GroupFilter } from "./group-filter.ts";
import { meanOf, stdOf } from "./statistics.ts";

export interface ValueReplacementOptions extends PassOptions {
  /** The best reward there is; absent, the best of the batch. */
  readonly maxReward?: number;
}

const known: KnownOptions<ValueReplacementOptions> = { maxReward: true, passReward: true };

/**
 * VSPO: groups whose rewards are all equal are replaced by others of the batch, drawn in proportion to their value, so the
 * batch keeps its size; advantages of a group that occurs `n` times are divided by the root of `n`. The paper gives the
 * value and the purpose; drawing in proportion, the root and `maxReward` by default are our instantiation.
 */
export function valueReplacement(options: Partial<ValueReplacementOptions> = {}): GroupFilter {
  refuseUnknownOptions("valueReplacement", options, known);
  const { passReward, maxReward } = { ...passDefaults, ...options };
  return {
    name: "value-replacement",
    needs: { contrast: true },
    choose(groups, rng) {
      const varied = variedGroups(groups);
      if (varied.length === 0) return filterChoice(groups, { kept: [], passReward });
      const best = maxReward ?? bestReward(groups);
      const values = varied.map((index) => Math.max(0, taskValue(groups[index].rewards_G, best)));
      const isVaried = new Set(varied);
      const slots = groups.map((_, index) => (isVaried.has(index) ? index : varied[draw(values, rng)]));
      const occurrences = new Int32Array(groups.length);
      for (const index of slots) occurrences[index] = occurrences[index] + 1;
      const kept = slots.map((index) => ({ index, scale: 1 / Math.sqrt(occurrences[index]) }));
      return filterChoice(groups, { kept, passReward });
    },
  };
}

/** `(max - mean) * std`: high where the task is hard and its outcome uncertain. */
export function taskValue(rewards_G: readonly number[], maxReward: number): number {
  return (maxReward - meanOf(rewards_G)) * stdOf(rewards_G);
}

function bestReward(groups: readonly FilterGroup[]): number {
  let best = Number.NEGATIVE_INFINITY;
  for (const { rewards_G } of groups) for (const reward of rewards_G) best = Math.max(best, reward);
  return best;
}

/** An index in proportion to its weight; any, where all weigh nothing. */
function draw(weights: readonly number[], rng: Rng): number {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (total === 0) return rng.integer(weights.length);
  let left = rng.next() * total;
  for (const [index, weight] of weights.entries()) {
    if (left < weight) return index;
    left -= weight;
  }
  return weights.findLastIndex((weight) => weight > 0);
}
