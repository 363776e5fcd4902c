import { defined } from "../defined.ts";
import type { TrainRow } from "../schema/train-batch.ts";
import { type Aggregation, coefficients } from "./aggregation.ts";
import type { Correction } from "./corrections.ts";
import { spread } from "./log-ratio.ts";
import type { Loss, LossRow, LossTotals } from "./loss.ts";
import { maskedTokens } from "./tokens.ts";

/** What PPO-clip, CISPO and REINFORCE have in common. */
export interface PolicyGradientOptions {
  readonly aggregation: Aggregation;
  /**
   * `sequence`: one ratio for all tokens of a row, exp of the mean of their log-ratios (GSPO), and a gradient through it to
   * each of them. The rows of a rollout were sampled in different contexts and have a ratio each.
   */
  readonly ratio: "token" | "sequence";
  /**
   * Where the mask acts: true leaves tokens outside out of every ratio, false computes ratios everywhere and leaves them out
   * when adding up, as verl, OpenRLHF and AReaL do. The gradients are equal.
   */
  readonly maskInside: boolean;
  /** Log-ratios are clamped to plus or minus this, and have no gradient beyond. */
  readonly maxLogRatio: number;
  /** Weights for tokens that were sampled by another policy than the old one. Never differentiated. */
  readonly corrections: readonly Correction[];
}

export const policyGradientDefaults: PolicyGradientOptions = {
  aggregation: "token-mean",
  ratio: "token",
  maskInside: true,
  maxLogRatio: 20,
  corrections: [],
};

/** One token's loss. The same object is written again for each token, so that none is allocated. */
export interface TokenTerm {
  value: number;
  /** Derivative with respect to the ratio. */
  ratioSlope: number;
  /** Derivative with respect to the token's log-probability, the ratio taken for constant. */
  logprobSlope: number;
  clip: "none" | "low" | "high" | "dual";
}

export type TermOf = (ratio: number, advantage: number, logprob: number, term: TokenTerm) => void;

/** For losses that are proportional to the advantage. */
export function hasNoAdvantage({ advantages_T }: TrainRow): boolean {
  return advantages_T.every((advantage) => advantage === 0);
}

/** A loss that is a sum over tokens of a function of ratio π/π_old, advantage and log-probability. */
export function policyGradient(name: string, options: PolicyGradientOptions, termOf: TermOf): Loss {
  return {
    name,
    needs: {},
    compute(rows, totals) {
      const pass = newPass(options, termOf, totals);
      const logprobs_B_T = rows.map((row) => differentiate(row, pass));
      const maxima = { "policy/ratio-max": pass.ratioMax };
      return { loss: pass.loss, derivatives: { logprobs_B_T }, metrics: metricsOf(pass), maxima };
    },
  };
}

interface Pass {
  readonly options: PolicyGradientOptions;
  readonly termOf: TermOf;
  readonly totals: LossTotals;
  readonly term: TokenTerm;
  readonly clipped: Record<TokenTerm["clip"], number>;
  loss: number;
  ratio: number;
  ratioMax: number;
  klOldNew: number;
  entropy: number;
  hasEntropies: boolean;
  weight: number;
  rejected: number;
}

function newPass(options: PolicyGradientOptions, termOf: TermOf, totals: LossTotals): Pass {
  return {
    options,
    termOf,
    totals,
    term: { value: 0, ratioSlope: 0, logprobSlope: 0, clip: "none" },
    clipped: { none: 0, low: 0, high: 0, dual: 0 },
    loss: 0,
    ratio: 0,
    ratioMax: 0,
    klOldNew: 0,
    entropy: 0,
    hasEntropies: false,
    weight: 0,
    rejected: 0,
  };
}

function differentiate(row: LossRow, pass: Pass): Float32Array {
  const { options, term } = pass;
  const { logprobs_T, oldLogprobs_T, mask_T, advantages_T } = row;
  const derivatives_T = new Float32Array(mask_T.length);
  const scale_T = coefficients(row, pass.totals, options.aggregation);
  correct(row, scale_T, pass);
  const limit = options.maxLogRatio;
  const bySequence = options.ratio === "sequence";
  const sequenceLogRatio = bySequence ? meanLogRatio(row) : 0;
  let throughSequence = 0;
  for (let t = 0; t < mask_T.length; t++) {
    const isInside = mask_T[t] !== 0;
    if (!isInside && options.maskInside) continue;
    const tokenLogRatio = logprobs_T[t] - oldLogprobs_T[t];
    const logRatio = bySequence ? sequenceLogRatio : tokenLogRatio;
    const ratio = Math.exp(clamp(logRatio, limit));
    pass.termOf(ratio, advantages_T[t], logprobs_T[t], term);
    const scale = scale_T[t];
    pass.loss += scale * term.value;
    const through = Math.abs(logRatio) > limit ? 0 : scale * term.ratioSlope * ratio;
    derivatives_T[t] = scale * term.logprobSlope + (bySequence ? 0 : through);
    throughSequence += through;
    if (isInside) observe(row, t, ratio, clamp(tokenLogRatio, limit), pass);
  }
  if (bySequence) spread(throughSequence / Math.max(1, maskedTokens(mask_T)), mask_T, derivatives_T);
  return derivatives_T;
}

const clamp = (value: number, limit: number) => Math.max(-limit, Math.min(limit, value));

function meanLogRatio({ logprobs_T, oldLogprobs_T, mask_T }: LossRow): number {
  let sum = 0;
  for (let t = 0; t < mask_T.length; t++) if (mask_T[t] !== 0) sum += logprobs_T[t] - oldLogprobs_T[t];
  return sum / Math.max(1, maskedTokens(mask_T));
}

function correct(row: TrainRow, scale_T: Float64Array, pass: Pass): void {
  if (pass.options.corrections.length === 0) return;
  const weights_T = new Float64Array(scale_T.length).fill(1);
  for (const correction of pass.options.corrections) correction.apply(row, weights_T);
  for (let t = 0; t < scale_T.length; t++) {
    if (row.mask_T[t] === 0) continue;
    scale_T[t] *= weights_T[t];
    pass.weight += weights_T[t];
    if (weights_T[t] === 0) pass.rejected++;
  }
}

function observe(row: LossRow, t: number, ratio: number, logRatio: number, pass: Pass): void {
  pass.clipped[pass.term.clip]++;
  pass.ratio += ratio;
  pass.ratioMax = Math.max(pass.ratioMax, ratio);
  pass.klOldNew += Math.expm1(logRatio) - logRatio;
  if (row.entropies_T === undefined) return;
  pass.hasEntropies = true;
  pass.entropy += row.entropies_T[t];
}

/** Means over all tokens with mask 1, also where the ratio is of sequences. */
function metricsOf(pass: Pass): Record<string, number> {
  const { clipped, options } = pass;
  const tokens = Math.max(1, pass.totals.tokens);
  return {
    "policy/clip-low": clipped.low / tokens,
    "policy/clip-high": clipped.high / tokens,
    "policy/clip-dual": clipped.dual / tokens,
    // k3 of KL(old, new): the samples are the old policy's, so the order is the other one than of a penalty towards a reference
    "policy/kl-old-new": pass.klOldNew / tokens,
    "policy/ratio-mean": pass.ratio / tokens,
    ...defined({ "policy/entropy": pass.hasEntropies ? pass.entropy / tokens : undefined }),
    ...(options.corrections.length > 0
      ? { "policy/correction-mean": pass.weight / tokens, "policy/correction-rejected": pass.rejected / tokens }
      : {}),
  };
}
