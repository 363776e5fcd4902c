import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import type { Loss } from "./loss.ts";
import {
  hasNoAdvantage,
  type PolicyGradientOptions,
  policyGradient,
  policyGradientDefaults,
} from "./policy-gradient.ts";

export interface CispoLossOptions extends PolicyGradientOptions {
  /** The largest weight of a token: 1 + ε_high of the paper, which does not disclose it; 5 as in ScaleRL and TRL. */
  readonly cap: number;
  /** The smallest: 0, no lower clip, as in the paper. verl clips at 1 - 0.2 unless told otherwise. */
  readonly floor: number;
  /**
   * The paper's unified form: drop tokens with a positive advantage and a ratio above 1 + `high`, and those with a negative
   * one below 1 - `low`. With `cap: Infinity` the gradient is then PPO-clip's.
   */
  readonly drop?: { readonly low: number; readonly high: number };
}

const defaults: CispoLossOptions = { ...policyGradientDefaults, cap: 5, floor: 0 };

const known: KnownOptions<CispoLossOptions> = {
  aggregation: true,
  ratio: true,
  maskInside: true,
  maxLogRatio: true,
  corrections: true,
  cap: true,
  floor: true,
  drop: true,
};

/**
 * -sg(clip(ρ))·A·log π (MiniMax-M1). Clipping the weight rather than the loss keeps a gradient for every token: rare tokens
 * that became likelier are where a chain of thought turns, and PPO's clip drops them.
 */
export function cispoLoss(options: Partial<CispoLossOptions> = {}): Loss {
  refuseUnknownOptions("cispoLoss", options, known);
  const chosen = { ...defaults, ...options };
  const { cap, floor, drop } = chosen;
  const loss = policyGradient("cispo", chosen, (ratio, advantage, logprob, term) => {
    const isHigh = advantage > 0 && ratio > (drop === undefined ? cap : 1 + drop.high);
    const isLow = advantage < 0 && ratio < (drop === undefined ? floor : 1 - drop.low);
    term.clip = isHigh ? "high" : isLow ? "low" : "none";
    const weight = drop !== undefined && (isHigh || isLow) ? 0 : Math.max(floor, Math.min(cap, ratio));
    term.logprobSlope = -weight * advantage;
    term.value = term.logprobSlope * logprob;
  });
  return { ...loss, zeroGradient: hasNoAdvantage };
}
