import { type BiLevelGaeOptions, biLevelGae } from "../../credit/bi-level-gae.ts";
import type { Credit } from "../../credit/credit.ts";
import { gae } from "../../credit/gae.ts";
import { keepAllGroups } from "../../credit/keep-all-groups.ts";
import { stepGae } from "../../credit/step-gae.ts";
import { type KnownOptions, refuseOtherValue, refuseUnknownOptions } from "../../known-options.ts";
import type { KlController } from "../../loss/kl-controller.ts";
import { ppoClip } from "../../loss/ppo-clip.ts";
import { valueLoss } from "../../loss/value-loss.ts";
import { refuseWithoutEffect } from "../../option-without-effect.ts";
import type { Algorithm, Critic } from "../algorithm.ts";
import type { Schedule } from "../schedule.ts";
import { type CommonOptions, commonOptions, inReward, preset, withTerms } from "./preset.ts";

/** Options of PPO with defaults; what may be given together is `PpoOptions`. */
export interface PpoSettings extends CommonOptions {
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
  critic: CriticOptions;
}

/** A shared critic learns with the policy, at its rate: rate and pretraining are a separate one's. */
export type CriticOptions =
  | { readonly kind?: "shared"; readonly learningRate?: never; readonly pretrainSteps?: never }
  | { readonly kind: "separate"; readonly learningRate?: Schedule; readonly pretrainSteps?: number };

/** Bi-level credit has a γ and a λ of its own. */
export type LevelOptions =
  | { level?: "token" | "step"; gamma?: number; lambda?: number }
  | { level: Partial<BiLevelGaeOptions>; gamma?: never; lambda?: never };

/** What has an effect whatever the level. */
export type SharedPpoOptions = Partial<Omit<PpoSettings, "level" | "gamma" | "lambda">>;

export type PpoOptions = SharedPpoOptions & LevelOptions;

export const ppoOptions: KnownOptions<PpoSettings> = {
  ...commonOptions,
  clipLow: true,
  clipHigh: true,
  dualClip: true,
  gamma: true,
  lambda: true,
  level: true,
  valueCoefficient: true,
  valueClip: true,
  kl: true,
  critic: true,
};

export const ppoDefaults: Omit<PpoSettings, keyof CommonOptions> = {
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

/** Refuses options that have no effect together with the others. */
export function checkPpo(what: string, { critic = {}, ...options }: Partial<PpoSettings>): void {
  const known = { kind: true, learningRate: true, pretrainSteps: true } as const;
  refuseUnknownOptions<CriticOptions>(`the critic of ${what}`, critic, known);
  if (critic.kind !== "separate") {
    refuseWithoutEffect(`the critic of ${what}`, critic, ["learningRate", "pretrainSteps"], {
      when: "on a critic that shares the policy's weights",
      hint: 'Add kind: "separate".',
    });
  }
  if (typeof options.level !== "object") {
    refuseOtherValue(`level of ${what}`, options.level ?? "token", ["token", "step"]);
    return;
  }
  refuseWithoutEffect(what, options, ["gamma", "lambda"], {
    when: "with a bi-level `level`, which has its own",
    hint: "Put it into level: { gamma, lambda, turnGamma }.",
  });
}

export function ppoLike(name: string, chosen: PpoSettings, rest: Partial<Algorithm> = {}): Algorithm {
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

function creditOf({ level, gamma, lambda }: PpoSettings): Credit {
  if (level === "token") return gae({ gamma, lambda, whiten: true });
  if (level === "step") return stepGae({ gamma, lambda });
  return biLevelGae(level);
}
