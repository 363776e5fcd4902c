import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { filterChoice, keepOnce, type PassOptions, passDefaults, variedGroups } from "./filter-choice.ts";
import type { GroupFilter } from "./group-filter.ts";

export interface DynamicSamplingOptions extends PassOptions {
  /** Groups an update should have. */
  readonly wanted: number;
  /**
   * The bound, in batches of `wanted` groups beyond the first: at most `wanted * (1 + maxRefills)` groups are rolled out for
   * one update. verl's `max_num_gen_batches` is one more.
   */
  readonly maxRefills: number;
}

const defaults = { ...passDefaults, maxRefills: 9 };

const known: KnownOptions<DynamicSamplingOptions> = { wanted: true, maxRefills: true, passReward: true };

/**
 * DAPO's dynamic sampling: groups whose rewards are all equal are dropped and others rolled out in their place. Keeps the
 * first `wanted`; asks for as many more as will probably do, going by the share that was of use so far. At the bound it
 * gives what there is, and `filter/missing-groups` says how many are missing (verl raises).
 */
export function dynamicSampling(
  options: Pick<DynamicSamplingOptions, "wanted"> & Partial<DynamicSamplingOptions>,
): GroupFilter {
  refuseUnknownOptions("dynamicSampling", options, known);
  const { wanted, maxRefills, passReward } = { ...defaults, ...options };
  if (!(Number.isInteger(wanted) && wanted > 0 && Number.isInteger(maxRefills) && maxRefills >= 0)) {
    const got = `wanted ${wanted}, maxRefills ${maxRefills}`;
    throw new LudusError("bad-filter", { got, expected: "whole numbers, wanted above 0, maxRefills at least 0" });
  }
  return {
    name: "dynamic-sampling",
    needs: { contrast: true },
    choose(groups) {
      const varied = variedGroups(groups);
      const missing = Math.max(0, wanted - varied.length);
      const left = Math.max(0, wanted * (1 + maxRefills) - groups.length);
      return filterChoice(groups, {
        kept: keepOnce(varied.slice(0, wanted)),
        refill: Math.min(left, expectedNeed(missing, varied.length, groups.length), wanted),
        passReward,
        metrics: { "filter/missing-groups": missing },
      });
    },
  };
}

function expectedNeed(missing: number, useful: number, seen: number): number {
  return useful === 0 ? missing : Math.ceil((missing * seen) / useful);
}
