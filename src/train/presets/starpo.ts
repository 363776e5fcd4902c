import { groupRelative } from "../../credit/group-relative.ts";
import { keepAllGroups } from "../../credit/keep-all-groups.ts";
import { topDeviation } from "../../credit/top-deviation.ts";
import { type KnownOptions, refuseOtherValue, refuseUnknownOptions } from "../../known-options.ts";
import { ppoClip } from "../../loss/ppo-clip.ts";
import { refuseWithoutEffect } from "../../option-without-effect.ts";
import type { Algorithm } from "../algorithm.ts";
import {
  checkPpo,
  type LevelOptions,
  type PpoOptions,
  type PpoSettings,
  ppoDefaults,
  ppoLike,
  ppoOptions,
  type SharedPpoOptions,
} from "./ppo-like.ts";
import { type CommonOptions, commonDefaults, inReward, preset, withTerms } from "./preset.ts";

/** What only a critic makes use of. */
const ofCritic = ["dualClip", "gamma", "lambda", "level", "valueCoefficient", "valueClip", "critic"] as const;

/** With a critic (PPO, the published default and the more stable one) or with groups (GRPO), which have no critic to set. */
export type StarpoOptions =
  | (PpoOptions & { advantages?: "critic" })
  | (Partial<GroupSettings> & { advantages: "group" } & { [Option in (typeof ofCritic)[number]]?: never });

type GroupSettings = CommonOptions & Pick<PpoSettings, "clipLow" | "clipHigh" | "kl">;

// RAGEN's settings: 16 attempts at each of 8 prompts, gamma = lambda = 1
const defaults: GroupSettings = {
  ...commonDefaults,
  groupSize: 16,
  epochs: 1,
  miniBatches: 4,
  entropy: 0.001,
  clipLow: 0.2,
  clipHigh: 0.2,
  kl: 0.001,
};

type AnyStarpoOptions = Partial<PpoSettings> & { advantages?: "critic" | "group" };
const starpoOptions: KnownOptions<AnyStarpoOptions> = { ...ppoOptions, advantages: true };

/**
 * StarPO (State-Thinking-Actions-Reward): whole trajectories, with PPO or GRPO underneath. The KL penalty (k1) is taken off the
 * rewards of tokens; with groups, what is compared is their sum.
 */
export function starpo(options: StarpoOptions = {}): Algorithm {
  refuseUnknownOptions<AnyStarpoOptions>("starpo", options, starpoOptions);
  refuseOtherValue("advantages of starpo", options.advantages ?? "critic", ["critic", "group"]);
  if (options.advantages === "group") return starpoOfGroups(options);
  checkPpo("starpo", options);
  const settings = { ...ppoDefaults, ...defaults, ...options, advantages: "critic" };
  return ppoLike("starpo", settings);
}

function starpoOfGroups(options: Partial<GroupSettings>): Algorithm {
  refuseWithoutEffect("starpo", options, ofCritic, {
    when: 'with advantages "group", which has neither values nor GAE',
    hint: 'Leave it out, or use advantages "critic".',
  });
  const chosen = { ...defaults, ...options };
  const { clipLow, clipHigh, entropy, kl } = chosen;
  const aggregation = "token-mean";
  const loss = ppoClip({ corrections: chosen.corrections, aggregation, clipLow, clipHigh });
  return preset("starpo", chosen, {
    credit: groupRelative(),
    loss: withTerms(loss, { entropy, aggregation }),
    filter: () => keepAllGroups(),
    ...inReward(kl),
  });
}

/** StarPO with a critic and without a KL penalty. */
export type StarpoSOptions = Omit<SharedPpoOptions, "kl"> &
  LevelOptions & {
    /** Share of groups, those with the largest deviation of rewards, that are learned from. */
    share?: number;
  };

const { kl: _kl, ...withoutKl } = ppoOptions;
const starpoSOptions: KnownOptions<StarpoSOptions> = { ...withoutKl, share: true };

/**
 * StarPO-S: only the groups whose rewards differ most, a critic, no KL, clip-higher. It filters tasks, not rollouts. The published
 * batch of an update is 32 rollouts with and without the filter, so a step makes as many fewer updates as it keeps fewer groups.
 */
export function starpoS(options: StarpoSOptions = {}): Algorithm {
  refuseUnknownOptions("starpoS", options, starpoSOptions);
  checkPpo("starpoS", options);
  const { share = 0.25, ...rest } = options;
  const miniBatches = options.miniBatches ?? Math.max(1, Math.round(defaults.miniBatches * share));
  const settings = { ...ppoDefaults, ...defaults, clipHigh: 0.28, ...rest, miniBatches, kl: 0, advantages: "critic" };
  return ppoLike("starpo-s", settings, { filter: () => topDeviation({ share }) });
}
