import { gae } from "../../credit/gae.ts";
import { keepAllGroups } from "../../credit/keep-all-groups.ts";
import { lengthAdaptiveLambda } from "../../credit/length-adaptive-lambda.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { positiveNll } from "../../loss/positive-nll.ts";
import { ppoClip } from "../../loss/ppo-clip.ts";
import { valueLoss } from "../../loss/value-loss.ts";
import type { Algorithm } from "../algorithm.ts";
import type { Schedule } from "../schedule.ts";
import { checkPpo, type PpoOptions, type PpoSettings, ppoDefaults, ppoLike, ppoOptions } from "./ppo-like.ts";
import { type CommonOptions, commonDefaults, commonOptions, preset, withTerms } from "./preset.ts";

/** PPO with a value head: generalised advantages, clipped ratios. Tasks are attempted once each unless told otherwise. */
export function ppo(options: PpoOptions = {}): Algorithm {
  refuseUnknownOptions<Partial<PpoSettings>>("ppo", options, ppoOptions);
  checkPpo("ppo", options);
  return ppoLike("ppo", { ...commonDefaults, groupSize: 1, epochs: 2, miniBatches: 2, ...ppoDefaults, ...options });
}

export interface VapoOptions extends CommonOptions {
  clipLow: number;
  clipHigh: number;
  /** λ of the policy is 1 - 1 / (alpha * length). The paper's 0.05 is for thousands of tokens. */
  alpha: number;
  /** Steps in which only the critic learns. */
  pretrainSteps: number;
  criticLearningRate: Schedule;
  /** μ of the imitation of successful rollouts. */
  positive: number;
}

const vapoOptions: KnownOptions<VapoOptions> = {
  ...commonOptions,
  clipLow: true,
  clipHigh: true,
  alpha: true,
  pretrainSteps: true,
  criticLearningRate: true,
  positive: true,
};

/** VAPO: PPO with a critic that is trained first, λ apart for critic and policy, clip-higher, imitation of successes. */
export function vapo(options: Partial<VapoOptions> = {}): Algorithm {
  refuseUnknownOptions("vapo", options, vapoOptions);
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
