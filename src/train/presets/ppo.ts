import { type BiLevelGaeOptions, biLevelGae } from "../../credit/bi-level-gae.ts";
import type { Credit } from "../../credit/credit.ts";
import { gae } from "../../credit/gae.ts";
import { groupRelative } from "../../credit/group-relative.ts";
import { keepAllGroups } from "../../credit/keep-all-groups.ts";
import { lengthAdaptiveLambda } from "../../credit/length-adaptive-lambda.ts";
import { reinforcePlusPlusBaselineCredit, reinforcePlusPlusCredit } from "../../credit/reinforce-plus-plus.ts";
import { remaxCredit } from "../../credit/remax-credit.ts";
import { stepGae } from "../../credit/step-gae.ts";
import { topDeviation } from "../../credit/top-deviation.ts";
import { fixedKl, type KlController } from "../../loss/kl-controller.ts";
import { positiveNll } from "../../loss/positive-nll.ts";
import { ppoClip } from "../../loss/ppo-clip.ts";
import { valueLoss } from "../../loss/value-loss.ts";
import type { Algorithm, Critic } from "../algorithm.ts";
import { type CommonOptions, commonDefaults, preset, withTerms } from "./preset.ts";

export interface PpoOptions extends CommonOptions {
  clipLow: number;
  clipHigh: number;
  dualClip: boolean;
  gamma: number;
  lambda: number;
  /** Credit by token, by turn, or first by turn and then by token (RAGEN's bi-level). */
  level: "token" | "step" | Partial<BiLevelGaeOptions>;
  valueCoefficient: number;
  /** How far a value may move in one update; rewards of about 1 want no clipping here. */
  valueClip: number;
  /** Coefficient of the penalty in the reward, or what controls it; 0 keeps no reference policy. */
  kl: number | KlController;
  critic: Partial<Critic>;
}

const ppoDefaults: Omit<PpoOptions, keyof CommonOptions> = {
  clipLow: 0.2,
  clipHigh: 0.2,
  dualClip: false,
  gamma: 1,
  lambda: 1,
  level: "token",
  valueCoefficient: 0.5,
  valueClip: Number.POSITIVE_INFINITY,
  kl: 0,
  critic: {},
};
const defaultCritic: Critic = { kind: "shared", learningRate: 1e-3, pretrainSteps: 0 };

/** PPO with a value head: generalised advantages, clipped ratios. Tasks are attempted once each unless told otherwise. */
export function ppo(options: Partial<PpoOptions> = {}): Algorithm {
  return ppoLike("ppo", { ...commonDefaults, groupSize: 1, epochs: 2, miniBatches: 2, ...ppoDefaults, ...options });
}

function ppoLike(name: string, chosen: PpoOptions, rest: Partial<Algorithm> = {}): Algorithm {
  const { clipLow, clipHigh, dualClip, valueCoefficient, valueClip, kl, critic, entropy } = chosen;
  const aggregation = "token-mean";
  const policy = ppoClip({ corrections: chosen.corrections, aggregation, clipLow, clipHigh, dualClip });
  const values = valueLoss({ coefficient: valueCoefficient, clipRange: valueClip, aggregation });
  return preset(name, chosen, {
    credit: creditOf(chosen),
    loss: withTerms(policy, { entropy, aggregation }, values),
    filter: () => keepAllGroups(),
    critic: { ...defaultCritic, ...critic },
    ...inReward(kl),
    ...rest,
  });
}

function inReward(kl: number | KlController): Pick<Algorithm, "klInReward"> {
  if (typeof kl !== "number") return { klInReward: kl };
  return kl > 0 ? { klInReward: fixedKl(kl) } : {};
}

function creditOf({ level, gamma, lambda }: PpoOptions): Credit {
  if (level === "token") return gae({ gamma, lambda, whiten: true });
  if (level === "step") return stepGae({ gamma, lambda });
  return biLevelGae(level);
}

export interface VapoOptions extends CommonOptions {
  clipLow: number;
  clipHigh: number;
  /** λ of the policy is 1 - 1 / (alpha * length). The paper's 0.05 is for thousands of tokens. */
  alpha: number;
  /** Steps in which only the critic learns. */
  pretrainSteps: number;
  criticLearningRate: number;
  /** μ of the imitation of successful rollouts. */
  positive: number;
}

/** VAPO: PPO with a critic that is trained first, λ apart for critic and policy, clip-higher, imitation of successes. */
export function vapo(options: Partial<VapoOptions> = {}): Algorithm {
  const defaults = {
    clipLow: 0.2,
    clipHigh: 0.28,
    alpha: 0.5,
    pretrainSteps: 10,
    criticLearningRate: 1e-3,
    positive: 0.1,
  };
  const chosen = { ...commonDefaults, epochs: 2, miniBatches: 2, ...defaults, ...options };
  const { clipLow, clipHigh, alpha, pretrainSteps, criticLearningRate, positive, entropy } = chosen;
  const aggregation = "token-mean";
  const policy = ppoClip({ corrections: chosen.corrections, aggregation, clipLow, clipHigh });
  const values = valueLoss({ aggregation, clipRange: Number.POSITIVE_INFINITY });
  return preset("vapo", chosen, {
    credit: gae({ lambda: lengthAdaptiveLambda(alpha), criticLambda: 1, whiten: true }),
    loss: withTerms(policy, { entropy, aggregation }, values, positiveNll({ coefficient: positive })),
    filter: () => keepAllGroups(),
    critic: { kind: "separate", learningRate: criticLearningRate, pretrainSteps },
  });
}

export interface StarpoOptions extends PpoOptions {
  /** With a critic (PPO, the published default and the more stable one) or with groups (GRPO). */
  advantages: "critic" | "group";
}

// RAGEN's settings: 16 attempts at each of 8 prompts, gamma = lambda = 1
const starpoDefaults: StarpoOptions = {
  ...commonDefaults,
  groupSize: 16,
  epochs: 1,
  miniBatches: 4,
  entropy: 0.001,
  ...ppoDefaults,
  kl: 0.001,
  advantages: "critic",
};

/** StarPO (State-Thinking-Actions-Reward): whole trajectories, with PPO or GRPO underneath. */
export function starpo(options: Partial<StarpoOptions> = {}): Algorithm {
  return starpoLike("starpo", { ...starpoDefaults, ...options }, {});
}

export interface StarpoSOptions extends Omit<StarpoOptions, "kl" | "advantages"> {
  /** Share of groups, those with the largest deviation of rewards, that are learned from. */
  share: number;
}

/**
 * StarPO-S: only the groups whose rewards differ most, a critic, no KL, clip-higher. It filters tasks, not rollouts. The published
 * batch of an update is 32 rollouts with and without the filter, so a step makes as many fewer updates as it keeps fewer groups.
 */
export function starpoS(options: Partial<StarpoSOptions> = {}): Algorithm {
  const { share, ...chosen } = { ...starpoDefaults, share: 0.25, clipHigh: 0.28, ...options };
  const miniBatches = options.miniBatches ?? Math.max(1, Math.round(starpoDefaults.miniBatches * share));
  const rest = { filter: () => topDeviation({ share }) };
  return starpoLike("starpo-s", { ...chosen, miniBatches, kl: 0, advantages: "critic" }, rest);
}

function starpoLike(name: string, chosen: StarpoOptions, rest: Partial<Algorithm>): Algorithm {
  const { advantages, clipLow, clipHigh, entropy, kl } = chosen;
  if (advantages === "critic") return ppoLike(name, chosen, rest);
  const aggregation = "token-mean";
  const loss = ppoClip({ corrections: chosen.corrections, aggregation, clipLow, clipHigh });
  return preset(name, chosen, {
    credit: groupRelative(),
    loss: withTerms(loss, { entropy, aggregation }),
    filter: () => keepAllGroups(),
    ...inReward(kl),
    ...rest,
  });
}

export interface ReinforcePlusPlusOptions extends CommonOptions {
  clip: number;
  gamma: number;
  kl: number | KlController;
  /** Subtract the group's mean first. */
  baseline: boolean;
}

/** REINFORCE++: returns of tokens, normalised over the whole batch. */
export function reinforcePlusPlus(options: Partial<ReinforcePlusPlusOptions> = {}): Algorithm {
  const chosen = { ...commonDefaults, clip: 0.2, gamma: 1, kl: 0, baseline: false, ...options };
  const { clip, gamma, kl, baseline, entropy } = chosen;
  const aggregation = "token-mean";
  const loss = ppoClip({ corrections: chosen.corrections, aggregation, clipLow: clip, clipHigh: clip });
  return preset(baseline ? "reinforce++-baseline" : "reinforce++", chosen, {
    credit: baseline ? reinforcePlusPlusBaselineCredit() : reinforcePlusPlusCredit({ gamma }),
    loss: withTerms(loss, { entropy, aggregation }),
    filter: () => keepAllGroups(),
    ...inReward(kl),
  });
}

export interface RemaxOptions extends CommonOptions {
  clip: number;
}

/** ReMax: each attempt compared with a greedy one at the same task. */
export function remax(options: Partial<RemaxOptions> = {}): Algorithm {
  const chosen = { ...commonDefaults, clip: 0.2, groupSize: 1, ...options };
  const aggregation = "seq-mean-token-mean";
  const loss = ppoClip({ corrections: chosen.corrections, aggregation, clipLow: chosen.clip, clipHigh: chosen.clip });
  return preset("remax", chosen, {
    credit: remaxCredit(),
    loss: withTerms(loss, { entropy: chosen.entropy, aggregation }),
    filter: () => keepAllGroups(),
  });
}
