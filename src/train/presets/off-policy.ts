import { groupRelative } from "../../credit/group-relative.ts";
import { keepAllGroups } from "../../credit/keep-all-groups.ts";
import type { RelativeChoice } from "../../credit/relative-advantages.ts";
import { retrace } from "../../credit/retrace.ts";
import { vTrace } from "../../credit/v-trace.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { fullRatio, truncatedRatio } from "../../loss/corrections.ts";
import type { Loss } from "../../loss/loss.ts";
import { ppoClip } from "../../loss/ppo-clip.ts";
import { reinforce } from "../../loss/reinforce.ts";
import { valueLoss } from "../../loss/value-loss.ts";
import { refuseWithoutEffect } from "../../option-without-effect.ts";
import type { Algorithm } from "../algorithm.ts";
import { type CommonOptions, commonDefaults, commonOptions, preset, withTerms } from "./preset.ts";

/** For rollouts that lag behind: each of these presets has its own correction. */
type OffPolicyCommon = Omit<CommonOptions, "corrections">;

const { corrections: _corrections, ...offPolicyCommon } = commonOptions;

export interface ArealOptions extends OffPolicyCommon {
  clip: number;
  deviation: RelativeChoice;
  /** Weigh tokens by π_proximal/π_behaviour and clip π/π_proximal; false clips π/π_behaviour, as PPO does. */
  decoupled: boolean;
  /** The largest weight of a token; none by default. */
  cap: number;
}

const arealOptions: KnownOptions<ArealOptions> = {
  ...offPolicyCommon,
  clip: true,
  deviation: true,
  decoupled: true,
  cap: true,
};

/**
 * AReaL's decoupled PPO with group-relative advantages and no critic: a trust region around the policy before the update, whichever
 * policy sampled. With `decoupled: false` it is the PPO that the paper compares with.
 */
export function areal(options: Partial<ArealOptions> = {}): Algorithm {
  refuseUnknownOptions("areal", options, arealOptions);
  const defaults = { clip: 0.2, deviation: {}, decoupled: true, cap: Number.POSITIVE_INFINITY };
  const chosen = { ...commonDefaults, ...defaults, ...options };
  if (!chosen.decoupled) {
    refuseWithoutEffect("areal", options, ["cap"], { when: "without decoupling", hint: "Set decoupled: true." });
  }
  const { clip, cap, decoupled, entropy } = chosen;
  const aggregation = "token-mean";
  const weight = Number.isFinite(cap) ? truncatedRatio({ cap }) : fullRatio();
  const clipped = ppoClip({ corrections: decoupled ? [weight] : [], aggregation, clipLow: clip, clipHigh: clip });
  const loss = withTerms(decoupled ? clipped : againstBehaviour(clipped), { entropy, aggregation });
  return preset("areal", chosen, { credit: groupRelative(chosen.deviation), loss });
}

/** The same loss with the policy that sampled in the place of the one before the update. */
function againstBehaviour(loss: Loss): Loss {
  return {
    ...loss,
    compute: (rows, totals) =>
      loss.compute(
        rows.map((row) => ({ ...row, oldLogprobs_T: row.behaviourLogprobs_T })),
        totals,
      ),
  };
}

export interface TruncatedImportanceOptions extends OffPolicyCommon {
  deviation: RelativeChoice;
  /** The largest weight of a token. */
  cap: number;
  level: "token" | "sequence";
}

const truncatedOptions: KnownOptions<TruncatedImportanceOptions> = {
  ...offPolicyCommon,
  deviation: true,
  cap: true,
  level: true,
};

/** The policy gradient with weights min(π/π_behaviour, cap): truncated importance sampling, nothing clipped. */
export function truncatedImportance(options: Partial<TruncatedImportanceOptions> = {}): Algorithm {
  refuseUnknownOptions("truncatedImportance", options, truncatedOptions);
  const chosen = { ...commonDefaults, deviation: {}, cap: 2, level: "token" as const, ...options };
  const { cap, level, entropy } = chosen;
  const aggregation = "token-mean";
  const loss = reinforce({ aggregation, corrections: [truncatedRatio({ cap, level })] });
  const credit = groupRelative(chosen.deviation);
  return preset("truncated-importance", chosen, { credit, loss: withTerms(loss, { entropy, aggregation }) });
}

export interface ImpalaOptions extends OffPolicyCommon {
  gamma: number;
  lambda: number;
  /** Bounds on the ratio: in temporal differences, in traces, in advantages. */
  maxRatio: number;
  maxTrace: number;
  maxAdvantageRatio: number;
  valueCoefficient: number;
}

const impalaOptions: KnownOptions<ImpalaOptions> = {
  ...offPolicyCommon,
  gamma: true,
  lambda: true,
  maxRatio: true,
  maxTrace: true,
  maxAdvantageRatio: true,
  valueCoefficient: true,
};

/** IMPALA: an actor and a critic on one trunk, V-trace for rollouts of older policies. */
export function impala(options: Partial<ImpalaOptions> = {}): Algorithm {
  refuseUnknownOptions("impala", options, impalaOptions);
  const bounds = { maxRatio: 1, maxTrace: 1, maxAdvantageRatio: 1 };
  const defaults = { groupSize: 1, gamma: 1, lambda: 1, ...bounds, valueCoefficient: 0.5 };
  const chosen = { ...commonDefaults, ...defaults, ...options };
  const { gamma, lambda, maxRatio, maxTrace, maxAdvantageRatio, valueCoefficient, entropy } = chosen;
  const aggregation = "token-mean";
  const values = valueLoss({ coefficient: valueCoefficient, aggregation });
  return preset("impala", chosen, {
    credit: vTrace({ gamma, lambda, maxRatio, maxTrace, maxAdvantageRatio }),
    loss: withTerms(reinforce({ aggregation }), { entropy, aggregation }, values),
    ...withSharedCritic,
  });
}

export interface RetracePpoOptions extends OffPolicyCommon {
  gamma: number;
  lambda: number;
  clip: number;
  valueCoefficient: number;
}

const retraceOptions: KnownOptions<RetracePpoOptions> = {
  ...offPolicyCommon,
  gamma: true,
  lambda: true,
  clip: true,
  valueCoefficient: true,
};

/** PPO with Retrace(λ) in place of generalised advantages, and decoupled ratios. */
export function retracePpo(options: Partial<RetracePpoOptions> = {}): Algorithm {
  refuseUnknownOptions("retracePpo", options, retraceOptions);
  const defaults = { groupSize: 1, gamma: 1, lambda: 1, clip: 0.2, valueCoefficient: 0.5 };
  const chosen = { ...commonDefaults, ...defaults, ...options };
  const { gamma, lambda, clip, valueCoefficient, entropy } = chosen;
  const aggregation = "token-mean";
  const values = valueLoss({ coefficient: valueCoefficient, aggregation });
  const loss = ppoClip({ corrections: [fullRatio()], aggregation, clipLow: clip, clipHigh: clip });
  return preset("retrace-ppo", chosen, {
    credit: retrace({ gamma, lambda }),
    loss: withTerms(loss, { entropy, aggregation }, values),
    ...withSharedCritic,
  });
}

const withSharedCritic = {
  filter: () => keepAllGroups(),
  critic: { kind: "shared", learningRate: 1e-3, pretrainSteps: 0 },
} as const satisfies Partial<Algorithm>;
