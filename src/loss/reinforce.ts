import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import type { Loss } from "./loss.ts";
import {
  hasNoAdvantage,
  type PolicyGradientOptions,
  policyGradient,
  policyGradientDefaults,
} from "./policy-gradient.ts";

const known: KnownOptions<PolicyGradientOptions> = {
  aggregation: true,
  ratio: true,
  maskInside: true,
  maxLogRatio: true,
  corrections: true,
};

/** -A·log π of each token: the policy gradient itself, right as long as the policy is still the one that sampled. */
export function reinforce(options: Partial<PolicyGradientOptions> = {}): Loss {
  refuseUnknownOptions("reinforce", options, known);
  const chosen = { ...policyGradientDefaults, ...options };
  const loss = policyGradient("reinforce", chosen, (_ratio, advantage, logprob, term) => {
    term.logprobSlope = -advantage;
    term.value = -advantage * logprob;
  });
  return { ...loss, zeroGradient: hasNoAdvantage };
}
