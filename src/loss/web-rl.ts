import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { refuseWithoutEffect } from "../option-without-effect.ts";
import { referenceLogRatio, spread } from "./log-ratio.ts";
import type { Loss, LossRow, LossTotals } from "./loss.ts";
import { maskedTokens, present } from "./tokens.ts";

/**
 * WebRL's actor loss as in the paper: (β·log π/π_ref of an action - its advantage)², mean over actions. An action is a turn, its
 * log-ratio the sum over its tokens, its advantage the mean of theirs. The reference is the policy of the phase before.
 */
export function webRlSquared(options: { beta: number }): Loss {
  refuseUnknownOptions("webRlSquared", options, { beta: true });
  const { beta } = options;
  return turnLoss("web-rl-squared", (action, term) => {
    const error = beta * action.logRatio - action.advantage;
    term.value = error * error;
    term.slope = 2 * beta * error;
  });
}

export interface WebRlSmoothOptions {
  /** β, and what it is raised to where the reference is already sure of a good action or unsure of a bad one. */
  readonly beta: number;
  readonly raisedBeta: number;
  readonly sureOfGood: number;
  readonly unsureOfBad: number;
  /** What advantages are replaced with: at least 0, below 0. */
  readonly good: number;
  readonly bad: number;
  /** The code leaves actions with a negative advantage out. */
  readonly learnFromBad: boolean;
  /** Adds -log π of good actions, weighted exp(1 - p), p their mean probability taken for constant. */
  readonly imitate: boolean;
}

const defaults: WebRlSmoothOptions = {
  beta: 1,
  raisedBeta: 5,
  sureOfGood: 0.8,
  unsureOfBad: 0.9,
  good: 1,
  bad: -0.6,
  learnFromBad: false,
  imitate: false,
};

const known: KnownOptions<WebRlSmoothOptions> = {
  beta: true,
  raisedBeta: true,
  sureOfGood: true,
  unsureOfBad: true,
  good: true,
  bad: true,
  learnFromBad: true,
  imitate: true,
};

/**
 * WebRL's actor loss as in its code: (1/β)·SmoothL1(β·Δ, A), mean over actions, Δ the mean of an action's log-ratios, A one of two
 * constants. β is at most |A/Δ|, so that no action is pushed beyond its target. The code divides by the tokens of all good actions
 * of its batch; it runs with a batch of one action, which is what is written here.
 */
export function webRlSmooth(options: Partial<WebRlSmoothOptions> = {}): Loss {
  refuseUnknownOptions("webRlSmooth", options, known);
  const chosen = { ...defaults, ...options };
  if (!chosen.learnFromBad) {
    refuseWithoutEffect("webRlSmooth", options, ["bad", "unsureOfBad"], {
      when: "where bad actions are left out",
      hint: "Set learnFromBad: true.",
    });
  }
  return turnLoss("web-rl-smooth", (action, term) => {
    const isGood = action.advantage >= 0;
    term.value = 0;
    term.slope = 0;
    if (!isGood && !chosen.learnFromBad) return;
    const target = isGood ? chosen.good : chosen.bad;
    const delta = action.logRatio / action.tokens;
    const beta = Math.min(betaOf(action, isGood, chosen), Math.abs(target / delta));
    const error = beta * delta - target;
    term.value = (Math.abs(error) < 1 ? (error * error) / 2 : Math.abs(error) - 0.5) / beta;
    term.slope = Math.max(-1, Math.min(1, error)) / action.tokens;
    if (!isGood || !chosen.imitate) return;
    const mean = action.logprob / action.tokens;
    const weight = Math.exp(1 - Math.exp(mean));
    term.value -= weight * mean;
    term.slope -= weight / action.tokens;
  });
}

function betaOf({ logprob, logRatio, tokens }: Action, isGood: boolean, options: WebRlSmoothOptions): number {
  const referenceProbability = Math.exp((logprob - logRatio) / tokens);
  const isRaised = isGood ? referenceProbability >= options.sureOfGood : referenceProbability < options.unsureOfBad;
  return isRaised ? options.raisedBeta : options.beta;
}

interface Action {
  tokens: number;
  logprob: number;
  logRatio: number;
  advantage: number;
}

/** Value, and derivative with respect to the sum of the action's log-probabilities. */
interface ActionTerm {
  value: number;
  slope: number;
}

function turnLoss(name: string, termOf: (action: Action, term: ActionTerm) => void): Loss {
  return {
    name,
    needs: { reference: true },
    compute(rows, totals) {
      const sums = { loss: 0, logRatio: 0, learned: 0 };
      const logprobs_B_T = rows.map((row) => differentiate(row, totals, termOf, sums));
      const metrics = { "web-rl/log-ratio": sums.logRatio, "web-rl/learned": sums.learned };
      return { loss: sums.loss, derivatives: { logprobs_B_T }, metrics };
    },
  };
}

function differentiate(
  row: LossRow,
  { turns }: LossTotals,
  termOf: (action: Action, term: ActionTerm) => void,
  sums: { loss: number; logRatio: number; learned: number },
): Float32Array {
  present(row.referenceLogprobs_T, "referenceLogprobs_T", row);
  const derivatives_T = new Float32Array(row.mask_T.length);
  const term: ActionTerm = { value: 0, slope: 0 };
  for (const { start, end } of row.turns) {
    const tokens = maskedTokens(row.mask_T, start, end);
    if (tokens === 0) continue;
    const logRatio = referenceLogRatio(row, start, end);
    const logprob = masked(row.logprobs_T, row.mask_T, start, end);
    const advantage = masked(row.advantages_T, row.mask_T, start, end) / tokens;
    termOf({ tokens, logprob, logRatio, advantage }, term);
    sums.loss += term.value / turns;
    sums.logRatio += logRatio / turns;
    if (term.slope !== 0) sums.learned += 1 / turns;
    spread(term.slope / turns, row.mask_T, derivatives_T, start, end);
  }
  return derivatives_T;
}

function masked(values_T: Float32Array, mask_T: Uint8Array, start: number, end: number): number {
  let sum = 0;
  for (let t = start; t < end; t++) if (mask_T[t] !== 0) sum += values_T[t];
  return sum;
}
