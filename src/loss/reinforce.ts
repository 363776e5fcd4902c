import type { Loss } from "./loss.ts";
import {
  hasNoAdvantage,
  type PolicyGradientOptions,
  policyGradient,
  policyGradientDefaults,
} from "./policy-gradient.ts";

/** -A·log π of each token: the policy gradient itself, right as long as the policy is still the one that sampled. */
export function reinforce(options: Partial<PolicyGradientOptions> = {}): Loss {
  const chosen = { ...policyGradientDefaults, ...options };
  const loss = policyGradient("reinforce", chosen, (_ratio, advantage, logprob, term) => {
    term.logprobSlope = -advantage;
    term.value = -advantage * logprob;
  });
  return { ...loss, zeroGradient: hasNoAdvantage };
}
