import { dynamicSampling } from "../../credit/dynamic-sampling.ts";
import { type GigpoCreditChoice, gigpoCredit } from "../../credit/gigpo-credit.ts";
import { groupRelative } from "../../credit/group-relative.ts";
import { keepAllGroups } from "../../credit/keep-all-groups.ts";
import { leaveOneOut } from "../../credit/leave-one-out.ts";
import type { RelativeChoice } from "../../credit/relative-advantages.ts";
import { skipUniform } from "../../credit/skip-uniform.ts";
import { valueReplacement } from "../../credit/value-replacement.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import type { Aggregation } from "../../loss/aggregation.ts";
import { cispoLoss } from "../../loss/cispo-loss.ts";
import { ppoClip } from "../../loss/ppo-clip.ts";
import type { Algorithm } from "../algorithm.ts";
import { type CommonOptions, commonDefaults, commonOptions, preset, withTerms } from "./preset.ts";

export interface GrpoOptions extends CommonOptions {
  clip: number;
  /** β of a k3 penalty in the loss; 0, the default, keeps no reference policy. */
  kl: number;
  /** How the group's deviation is computed and used. */
  deviation: RelativeChoice;
  /** Groups whose rewards are all equal: left out, or kept, where a penalty should act on them too. */
  uniformGroups: "skip" | "keep";
}

const grpoOptions: KnownOptions<GrpoOptions> = {
  ...commonOptions,
  clip: true,
  kl: true,
  deviation: true,
  uniformGroups: true,
};

/** Group-relative policy optimization: advantages (r - mean) / std of a group, mean over rollouts of token means. */
export function grpo(options: Partial<GrpoOptions> = {}): Algorithm {
  refuseUnknownOptions("grpo", options, grpoOptions);
  return grpoLike("grpo", "seq-mean-token-mean", options);
}

/**
 * What the docs recommend: GRPO with four updates from the rollouts of a step, a learning rate that follows from the number of parameters and falls, and
 * advantages that are not divided by a group's deviation, which would prefer a small sure reward to a larger one that is rarer.
 */
export function recommended(options: Partial<GrpoOptions> = {}): Algorithm {
  refuseUnknownOptions("recommended", options, grpoOptions);
  return grpoLike("recommended", "seq-mean-token-mean", {
    miniBatches: 4,
    learningRate: "by-size-falling",
    deviation: { scale: "none" },
    ...options,
  });
}

/** WebAgent-R1's M-GRPO: mean over rollouts of mean over turns of token means. The released code has token means alone. */
export function mGrpo(options: Partial<GrpoOptions> = {}): Algorithm {
  refuseUnknownOptions("mGrpo", options, grpoOptions);
  return grpoLike("m-grpo", "turn-mean", options);
}

function grpoLike(name: string, aggregation: Aggregation, options: Partial<GrpoOptions>): Algorithm {
  const chosen = { ...commonDefaults, clip: 0.2, kl: 0, deviation: {}, uniformGroups: "skip" as const, ...options };
  const { clip, kl, deviation, uniformGroups, entropy } = chosen;
  const loss = ppoClip({ corrections: chosen.corrections, aggregation, clipLow: clip, clipHigh: clip });
  return preset(name, chosen, {
    credit: groupRelative(deviation),
    loss: withTerms(loss, { entropy, aggregation, kl: { coefficient: kl } }),
    filter: () => (uniformGroups === "skip" ? skipUniform() : keepAllGroups()),
  });
}

export interface DrGrpoOptions extends CommonOptions {
  clip: number;
  /** What sums over a rollout's tokens are divided by: a constant, so that long answers are not made light of. */
  length: number;
}

const drGrpoOptions: KnownOptions<DrGrpoOptions> = { ...commonOptions, clip: true, length: true };

/** Dr.GRPO: no division by the deviation, none by the length. */
export function drGrpo(options: Partial<DrGrpoOptions> = {}): Algorithm {
  refuseUnknownOptions("drGrpo", options, drGrpoOptions);
  const chosen = { ...commonDefaults, clip: 0.2, length: 64, ...options };
  const aggregation = { mode: "seq-mean-token-sum-norm", length: chosen.length } as const;
  const loss = ppoClip({ corrections: chosen.corrections, aggregation, clipLow: chosen.clip, clipHigh: chosen.clip });
  return preset("dr-grpo", chosen, {
    credit: groupRelative({ scale: "none" }),
    loss: withTerms(loss, { entropy: chosen.entropy, aggregation }),
  });
}

export interface DapoOptions extends CommonOptions {
  clipLow: number;
  clipHigh: number;
  /** Batches that may be rolled out beyond the first to fill a step with groups that are not all alike. */
  maxRefills: number;
  /** Whether rollouts that were cut off are left out of the loss. */
  maskCutOff: boolean;
}

const dapoOptions: KnownOptions<DapoOptions> = {
  ...commonOptions,
  clipLow: true,
  clipHigh: true,
  maxRefills: true,
  maskCutOff: true,
};

/** DAPO: clip-higher, dynamic sampling, token-level loss, overlong filtering, no KL. Its length penalty is `softOverlong`. */
export function dapo(options: Partial<DapoOptions> = {}): Algorithm {
  refuseUnknownOptions("dapo", options, dapoOptions);
  const defaults = { clipLow: 0.2, clipHigh: 0.28, maxRefills: 3, maskCutOff: true };
  const chosen = { ...commonDefaults, ...defaults, ...options };
  const { clipLow, clipHigh, maxRefills, maskCutOff, entropy } = chosen;
  const aggregation = "token-mean";
  return preset("dapo", chosen, {
    credit: groupRelative(),
    loss: withTerms(ppoClip({ corrections: chosen.corrections, aggregation, clipLow, clipHigh }), {
      entropy,
      aggregation,
    }),
    filter: (wanted) => dynamicSampling({ wanted, maxRefills }),
    maskStops: maskCutOff ? ["max-tokens", "context-full"] : [],
  });
}

export interface GspoOptions extends CommonOptions {
  clipLow: number;
  clipHigh: number;
}

const gspoOptions: KnownOptions<GspoOptions> = { ...commonOptions, clipLow: true, clipHigh: true };

/** GSPO: one ratio for the whole sequence, clipped far more tightly than one of tokens. */
export function gspo(options: Partial<GspoOptions> = {}): Algorithm {
  refuseUnknownOptions("gspo", options, gspoOptions);
  const chosen = { ...commonDefaults, clipLow: 3e-4, clipHigh: 4e-4, ...options };
  const aggregation = "seq-mean-token-mean";
  const { clipLow, clipHigh, entropy } = chosen;
  const loss = ppoClip({ corrections: chosen.corrections, aggregation, ratio: "sequence", clipLow, clipHigh });
  return preset("gspo", chosen, { credit: groupRelative(), loss: withTerms(loss, { entropy, aggregation }) });
}

export interface CispoOptions extends CommonOptions {
  /** The largest weight of a token. */
  cap: number;
  maxRefills: number;
}

const cispoOptions: KnownOptions<CispoOptions> = { ...commonOptions, cap: true, maxRefills: true };

/** CISPO: every token keeps a gradient, at a capped weight; DAPO's dynamic sampling. */
export function cispo(options: Partial<CispoOptions> = {}): Algorithm {
  refuseUnknownOptions("cispo", options, cispoOptions);
  const chosen = { ...commonDefaults, cap: 5, maxRefills: 3, ...options };
  const aggregation = "token-mean";
  const { cap, maxRefills, entropy } = chosen;
  return preset("cispo", chosen, {
    credit: groupRelative(),
    loss: withTerms(cispoLoss({ corrections: chosen.corrections, aggregation, cap }), { entropy, aggregation }),
    filter: (wanted) => dynamicSampling({ wanted, maxRefills }),
  });
}

export interface RlooOptions extends CommonOptions {
  clip: number;
  kl: number;
}

const rlooOptions: KnownOptions<RlooOptions> = { ...commonOptions, clip: true, kl: true };

/** RLOO: each attempt compared with the mean of the others. */
export function rloo(options: Partial<RlooOptions> = {}): Algorithm {
  refuseUnknownOptions("rloo", options, rlooOptions);
  const chosen = { ...commonDefaults, clip: 0.2, kl: 0, ...options };
  const aggregation = "seq-mean-token-mean";
  const { clip, kl, entropy } = chosen;
  const loss = ppoClip({ corrections: chosen.corrections, aggregation, clipLow: clip, clipHigh: clip });
  return preset("rloo", chosen, {
    credit: leaveOneOut(),
    loss: withTerms(loss, { entropy, aggregation, kl: { coefficient: kl } }),
  });
}

/** DeepSWE's "GRPO++": leave-one-out, clip-higher, sums over tokens, whatever hit a limit left out of the loss. */
export function deepswe(options: Partial<CommonOptions> = {}): Algorithm {
  refuseUnknownOptions("deepswe", options, commonOptions);
  const chosen = { ...commonDefaults, ...options };
  const aggregation = "seq-mean-token-sum";
  const loss = ppoClip({ corrections: chosen.corrections, aggregation, clipLow: 0.2, clipHigh: 0.28 });
  return preset("deepswe", chosen, {
    credit: leaveOneOut(),
    loss: withTerms(loss, { entropy: chosen.entropy, aggregation }),
    maskStops: ["max-tokens", "max-turns", "context-full"],
  });
}

export interface VspoOptions extends CommonOptions {
  clip: number;
  kl: number;
  /** The best reward there is: a task's value is its distance to it times the group's deviation. */
  maxReward: number;
}

const vspoOptions: KnownOptions<VspoOptions> = { ...commonOptions, clip: true, kl: true, maxReward: true };

/** VSPO: groups that teach nothing are replaced by copies of those that teach most, their advantages smoothed. */
export function vspo(options: Partial<VspoOptions> = {}): Algorithm {
  refuseUnknownOptions("vspo", options, vspoOptions);
  const chosen = { ...commonDefaults, clip: 0.2, kl: 0, maxReward: 1, ...options };
  const aggregation = "seq-mean-token-mean";
  const { clip, kl, maxReward, entropy } = chosen;
  const loss = ppoClip({ corrections: chosen.corrections, aggregation, clipLow: clip, clipHigh: clip });
  return preset("vspo", chosen, {
    credit: groupRelative(),
    loss: withTerms(loss, { entropy, aggregation, kl: { coefficient: kl } }),
    filter: () => valueReplacement({ maxReward }),
  });
}

export interface GigpoOptions extends CommonOptions {
  clip: number;
  credit: GigpoCreditChoice;
}

const gigpoOptions: KnownOptions<GigpoOptions> = { ...commonOptions, clip: true, credit: true };

/** GiGPO: GRPO's advantage of the episode, and one of each step against steps from the same state. */
export function gigpo(options: Partial<GigpoOptions> = {}): Algorithm {
  refuseUnknownOptions("gigpo", options, gigpoOptions);
  const chosen = { ...commonDefaults, clip: 0.2, credit: {}, ...options };
  const aggregation = "seq-mean-token-mean";
  const loss = ppoClip({ corrections: chosen.corrections, aggregation, clipLow: chosen.clip, clipHigh: chosen.clip });
  return preset("gigpo", chosen, {
    credit: gigpoCredit(chosen.credit),
    loss: withTerms(loss, { entropy: chosen.entropy, aggregation }),
    filter: () => keepAllGroups(),
  });
}
