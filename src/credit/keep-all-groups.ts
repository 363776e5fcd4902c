import { filterChoice, keepOnce, type PassOptions, passDefaults } from "./filter-choice.ts";
import type { GroupFilter } from "./group-filter.ts";

/** Every group, once. */
export function keepAllGroups(options: Partial<PassOptions> = {}): GroupFilter {
  const { passReward } = { ...passDefaults, ...options };
  return {
    name: "keep-all",
    needs: {},
    choose: (groups) => filterChoice(groups, { kept: keepOnce([...groups.keys()]), passReward }),
  };
}
