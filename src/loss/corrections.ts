import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import type { TrainRow } from "../schema/train-batch.ts";
import { maskedTokens } from "./tokens.ts";

/**
 * What to do about tokens that another policy sampled than the one the update began with: an older version, or the same
 * weights in another sampler's arithmetic. Weights come from stored log-probabilities, so nothing is differentiated.
 */
export interface Correction {
  readonly name: string;
  /** Multiplies the weights of a row's tokens. */
  apply(row: TrainRow, weights_T: Float64Array): void;
}

/** `sequence` is the product over a row's tokens, the same for all of them. */
export type CorrectionLevel = "token" | "sequence";

/** π_old/π_behaviour as it is. With PPO-clip on π/π_old this is decoupled PPO (AReaL): π_old is the proximal policy. */
export function fullRatio(): Correction {
  return ratioCorrection("full-ratio", "token", (ratio) => ratio);
}

export interface TruncatedRatioOptions {
  readonly cap: number;
  readonly level: CorrectionLevel;
}

const ofTruncated: KnownOptions<TruncatedRatioOptions> = { cap: true, level: true };

/** Truncated importance sampling: min(π_old/π_behaviour, cap). */
export function truncatedRatio(options: Partial<TruncatedRatioOptions> = {}): Correction {
  refuseUnknownOptions("truncatedRatio", options, ofTruncated);
  const { cap = 2, level = "token" } = options;
  return ratioCorrection("truncated-ratio", level, (ratio) => Math.min(ratio, cap));
}

export interface MaskedRatioOptions {
  readonly low: number;
  readonly high: number;
  readonly level: CorrectionLevel;
}

const ofMasked: KnownOptions<MaskedRatioOptions> = { low: true, high: true, level: true };

/** Masked importance sampling (IcePop): the ratio between the bounds, nothing outside. */
export function maskedRatio(options: Partial<MaskedRatioOptions> = {}): Correction {
  refuseUnknownOptions("maskedRatio", options, ofMasked);
  const { low = 0.5, high = 5, level = "token" } = options;
  return ratioCorrection("masked-ratio", level, (ratio) => (ratio < low || ratio > high ? 0 : ratio));
}

/** Leaves out rows whose geometric mean of π_old/π_behaviour is outside the bounds; weighs nothing. */
export function sequenceRatioMask(options: { low: number; high: number }): Correction {
  refuseUnknownOptions("sequenceRatioMask", options, { low: true, high: true });
  const { low, high } = options;
  return sequenceMask(
    "sequence-ratio-mask",
    (logRatio) => logRatio,
    (mean) => mean < Math.log(low) || mean > Math.log(high),
  );
}

/** Leaves out rows whose mean KL(behaviour, old), by k3, is above the bound. */
export function sequenceDivergenceMask(options: { max: number }): Correction {
  refuseUnknownOptions("sequenceDivergenceMask", options, { max: true });
  const { max } = options;
  const k3 = (logRatio: number) => Math.expm1(logRatio) - logRatio;
  return sequenceMask("sequence-divergence-mask", k3, (mean) => mean > max);
}

// beyond this exp() says nothing more about a token, and infinity times 0 would be no number
const maxLogRatio = 20;
const bounded = (logRatio: number) => Math.max(-maxLogRatio, Math.min(maxLogRatio, logRatio));

function ratioCorrection(name: string, level: CorrectionLevel, weightOf: (ratio: number) => number): Correction {
  return {
    name,
    apply(row, weights_T) {
      const { mask_T, oldLogprobs_T, behaviourLogprobs_T } = row;
      const ofSequence = level === "sequence" ? weightOf(Math.exp(bounded(sumOf(row, (logRatio) => logRatio)))) : 0;
      for (let t = 0; t < mask_T.length; t++) {
        if (mask_T[t] === 0) continue;
        weights_T[t] *=
          level === "sequence" ? ofSequence : weightOf(Math.exp(bounded(oldLogprobs_T[t] - behaviourLogprobs_T[t])));
      }
    },
  };
}

function sequenceMask(
  name: string,
  measure: (logRatio: number) => number,
  isOutside: (mean: number) => boolean,
): Correction {
  return {
    name,
    apply(row, weights_T) {
      if (isOutside(sumOf(row, measure) / Math.max(1, maskedTokens(row.mask_T)))) weights_T.fill(0);
    },
  };
}

function sumOf(row: TrainRow, measure: (logRatio: number) => number): number {
  const { mask_T, oldLogprobs_T, behaviourLogprobs_T } = row;
  let sum = 0;
  for (let t = 0; t < mask_T.length; t++) {
    if (mask_T[t] !== 0) sum += measure(bounded(oldLogprobs_T[t] - behaviourLogprobs_T[t]));
  }
  return sum;
}
