import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { filterChoice, keepOnce, type PassOptions, passDefaults } from "./filter-choice.ts";
import type { GroupFilter } from "./group-filter.ts";
import { stdOf } from "./statistics.ts";

export interface TopDeviationOptions extends PassOptions {
  /** Share of groups to keep, above 0 and at most 1. */
  readonly share: number;
}

const defaults: TopDeviationOptions = { ...passDefaults, share: 0.25 };

const known: KnownOptions<TopDeviationOptions> = { share: true, passReward: true };

/**
 * StarPO-S: keeps the groups whose rewards deviate most, whole groups and never single rollouts. Rounds down, to one at
 * least. Of equals the earlier is kept; the kept stay in their order.
 */
export function topDeviation(options: Partial<TopDeviationOptions> = {}): GroupFilter {
  refuseUnknownOptions("topDeviation", options, known);
  const { share, passReward } = { ...defaults, ...options };
  if (!(share > 0 && share <= 1)) {
    throw new LudusError("bad-filter", { got: `share ${share}`, expected: "a share, above 0 and at most 1" });
  }
  return {
    name: "top-deviation",
    needs: {},
    choose(groups) {
      const deviations = groups.map(({ rewards_G }) => stdOf(rewards_G));
      const ranked = Array.from(groups.keys()).sort((a, b) => deviations[b] - deviations[a] || a - b);
      // the hair keeps 0.29 of 100 groups from being 28
      const count = Math.max(1, Math.floor(share * groups.length + 1e-9));
      const kept = ranked.slice(0, count).sort((a, b) => a - b);
      return filterChoice(groups, { kept: keepOnce(kept), passReward });
    },
  };
}
