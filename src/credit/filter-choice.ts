import type { FilterChoice, FilterGroup } from "./group-filter.ts";
import { isUniform } from "./statistics.ts";

export interface PassOptions {
  /** In metrics, a group of equal rewards is all-pass from this reward on, all-fail below. */
  readonly passReward: number;
}

export const passDefaults: PassOptions = { passReward: 0.5 };

/** Indices of the groups whose rewards differ. */
export function variedGroups(groups: readonly FilterGroup[]): number[] {
  return Array.from(groups.keys()).filter((index) => !isUniform(groups[index].rewards_G));
}

export interface ChoiceFields {
  readonly kept: FilterChoice["kept"];
  readonly refill?: number;
  readonly passReward: number;
  readonly metrics?: Readonly<Record<string, number>>;
}

/** Adds the metrics that every filter reports. */
export function filterChoice(groups: readonly FilterGroup[], fields: ChoiceFields): FilterChoice {
  const { kept, refill = 0, passReward, metrics } = fields;
  // a group that the infrastructure emptied has no rewards that could be equal
  const uniform = groups.filter(({ rewards_G }) => rewards_G.length > 0 && isUniform(rewards_G));
  const allPass = uniform.filter(({ rewards_G }) => rewards_G[0] >= passReward);
  const allFail = uniform.filter(({ rewards_G }) => rewards_G[0] < passReward);
  const count = Math.max(1, groups.length);
  return {
    kept,
    refill,
    metrics: {
      "filter/uniform-groups": uniform.length / count,
      "filter/all-fail": allFail.length / count,
      "filter/all-pass": allPass.length / count,
      "filter/kept-groups": new Set(kept.map(({ index }) => index)).size / count,
      ...metrics,
    },
  };
}

/** Each once, at full weight. */
export function keepOnce(indices: readonly number[]): FilterChoice["kept"] {
  return indices.map((index) => ({ index, scale: 1 }));
}
