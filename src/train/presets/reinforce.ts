import { keepAllGroups } from "../../credit/keep-all-groups.ts";
import { reinforcePlusPlusBaselineCredit, reinforcePlusPlusCredit } from "../../credit/reinforce-plus-plus.ts";
import { remaxCredit } from "../../credit/remax-credit.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import type { KlController } from "../../loss/kl-controller.ts";
import { ppoClip } from "../../loss/ppo-clip.ts";
import { refuseWithoutEffect } from "../../option-without-effect.ts";
import type { Algorithm } from "../algorithm.ts";
import { type CommonOptions, commonDefaults, commonOptions, inReward, preset, withTerms } from "./preset.ts";

interface ReinforceSettings extends CommonOptions {
  clip: number;
  /** Coefficient of the penalty in the reward, or what controls it; 0 keeps no reference policy. */
  kl: number | KlController;
}

/** With a baseline the rewards of whole attempts are compared, and no return is discounted. */
export type ReinforcePlusPlusOptions = Partial<ReinforceSettings> &
  (
    | {
        /** Per sampled token. */
        gamma?: number;
        baseline?: false;
      }
    | {
        /** Subtract the group's mean first. */
        baseline: true;
        gamma?: never;
      }
  );

const reinforceOptions: KnownOptions<ReinforcePlusPlusOptions> = {
  ...commonOptions,
  clip: true,
  kl: true,
  gamma: true,
  baseline: true,
};

/** REINFORCE++: returns of tokens, normalised over the whole batch. A KL penalty is taken off the rewards of tokens. */
export function reinforcePlusPlus(options: ReinforcePlusPlusOptions = {}): Algorithm {
  refuseUnknownOptions("reinforcePlusPlus", options, reinforceOptions);
  const chosen = { ...commonDefaults, clip: 0.2, kl: 0, baseline: false, ...options };
  const { clip, gamma, kl, baseline, entropy } = chosen;
  if (baseline) {
    refuseWithoutEffect("reinforcePlusPlus", options, ["gamma"], {
      when: "with `baseline`, where rewards of whole attempts are compared",
      hint: "Leave it out, or leave `baseline` out.",
    });
  }
  const aggregation = "token-mean";
  const loss = ppoClip({ corrections: chosen.corrections, aggregation, clipLow: clip, clipHigh: clip });
  return preset(baseline ? "reinforce++-baseline" : "reinforce++", chosen, {
    credit: baseline ? reinforcePlusPlusBaselineCredit() : reinforcePlusPlusCredit({ gamma: gamma ?? 1 }),
    loss: withTerms(loss, { entropy, aggregation }),
    filter: () => keepAllGroups(),
    ...inReward(kl),
  });
}

export interface RemaxOptions extends CommonOptions {
  clip: number;
}

const remaxOptions: KnownOptions<RemaxOptions> = { ...commonOptions, clip: true };

/** ReMax: each attempt compared with a greedy one at the same task. */
export function remax(options: Partial<RemaxOptions> = {}): Algorithm {
  refuseUnknownOptions("remax", options, remaxOptions);
  const chosen = { ...commonDefaults, clip: 0.2, groupSize: 1, ...options };
  const aggregation = "seq-mean-token-mean";
  const loss = ppoClip({ corrections: chosen.corrections, aggregation, clipLow: chosen.clip, clipHigh: chosen.clip });
  return preset("remax", chosen, {
    credit: remaxCredit(),
    loss: withTerms(loss, { entropy: chosen.entropy, aggregation }),
    filter: () => keepAllGroups(),
  });
}
