import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { filterChoice, keepOnce, type PassOptions, passDefaults } from "./filter-choice.ts";
import type { GroupFilter } from "./group-filter.ts";

const known: KnownOptions<PassOptions> = { passReward: true };

/** Every group, once. */
export function keepAllGroups(options: Partial<PassOptions> = {}): GroupFilter {
  refuseUnknownOptions("keepAllGroups", options, known);
  const { passReward } = { ...passDefaults, ...options };
  return {
    name: "keep-all",
    needs: {},
    choose: (groups) => filterChoice(groups, { kept: keepOnce([...groups.keys()]), passReward }),
  };
}
