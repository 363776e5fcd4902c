import { keepAllGroups } from "../../credit/keep-all-groups.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { searchDistillation } from "../../loss/search-distillation.ts";
import type { Trajectory } from "../../schema/trajectory.ts";
import { learnable } from "../../schema/trajectory-group.ts";
import type { Algorithm } from "../algorithm.ts";
import { plainRow } from "../learn-row.ts";
import type { OfflineAlgorithm } from "../offline-algorithm.ts";
import { searchTargets } from "../search-targets.ts";
import { noCredit } from "./no-credit.ts";
import type { RejectionTuningOptions } from "./offline.ts";
import { commonDefaults, commonOptions, preset } from "./preset.ts";

export interface DistilSearchOptions extends RejectionTuningOptions {
  /** Of the visits: towards 0 only what was tried most counts. */
  visitTemperature: number;
}

const { entropy: _entropy, corrections: _corrections, ...sampledOptions } = commonOptions;
const distilSearchOptions: KnownOptions<DistilSearchOptions> = {
  ...sampledOptions,
  filter: true,
  visitTemperature: true,
};

/**
 * Teaches the policy to say at once what a tree search finds: cross-entropy with the shares of visits (AlphaZero's policy target, over turns). For
 * `train` in a world `withSearch(env, mcts())`, and for `trainOffline` on what such a run has stored. Learns from all attempts by default.
 */
export function distilSearch(options: Partial<DistilSearchOptions> = {}): Algorithm & OfflineAlgorithm {
  refuseUnknownOptions("distilSearch", options, distilSearchOptions);
  const chosen = { ...commonDefaults, groupSize: 1, visitTemperature: 1, filter: () => true, ...options };
  const { visitTemperature, filter } = chosen;
  const targetsOf = (trajectory: Trajectory) => searchTargets(trajectory, visitTemperature);
  return {
    ...preset("distil-search", chosen, {
      credit: noCredit,
      loss: searchDistillation(),
      filter: () => keepAllGroups(),
      learnFrom: filter,
      targetsOf,
    }),
    examples: (groups) =>
      groups.flatMap((group, g) =>
        learnable(group)
          .filter(filter)
          .flatMap((trajectory) => {
            const targets = targetsOf(trajectory);
            return targets === undefined ? [] : [[{ ...plainRow(trajectory, `${g}`), targets }]];
          }),
      ),
  };
}
