import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { filterChoice, keepOnce, type PassOptions, passDefaults, variedGroups } from "./filter-choice.ts";
import type { GroupFilter } from "./group-filter.ts";

const known: KnownOptions<PassOptions> = { passReward: true };

/** Drops groups whose rewards are all equal, groups of one among them; the batch gets smaller. */
export function skipUniform(options: Partial<PassOptions> = {}): GroupFilter {
  refuseUnknownOptions("skipUniform", options, known);
  const { passReward } = { ...passDefaults, ...options };
  return {
    name: "skip-uniform",
    needs: { contrast: true },
    choose: (groups) => filterChoice(groups, { kept: keepOnce(variedGroups(groups)), passReward }),
  };
}
