import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import type { Loss, LossTotals } from "./loss.ts";

export interface PositiveNllOptions {
  /** Rows whose reward is above this are imitated. */
  readonly threshold: number;
  /** μ. */
  readonly coefficient: number;
}

const defaults: PositiveNllOptions = { threshold: 0, coefficient: 0.1 };

const known: KnownOptions<PositiveNllOptions> = { threshold: true, coefficient: true };

/** VAPO's language-modelling term: μ times the mean of -log π over the tokens of successful rollouts. */
export function positiveNll(options: Partial<PositiveNllOptions> = {}): Loss {
  refuseUnknownOptions("positiveNll", options, known);
  const { threshold, coefficient } = { ...defaults, ...options };
  return {
    name: "positive-nll",
    needs: {},
    zeroGradient: ({ reward }) => !(reward > threshold),
    compute(rows, totals) {
      const tokens = tokensAbove(threshold, totals);
      let nll = 0;
      const logprobs_B_T = rows.map((row) => {
        const derivatives_T = new Float32Array(row.mask_T.length);
        if (!(row.reward > threshold)) return derivatives_T;
        for (let t = 0; t < derivatives_T.length; t++) {
          if (row.mask_T[t] === 0) continue;
          nll -= row.logprobs_T[t] / tokens;
          derivatives_T[t] = -coefficient / tokens;
        }
        return derivatives_T;
      });
      return { loss: coefficient * nll, derivatives: { logprobs_B_T }, metrics: { "positive-nll/nll": nll } };
    },
  };
}

function tokensAbove(threshold: number, { tokensOfReward }: LossTotals): number {
  let tokens = 0;
  for (const [reward, count] of tokensOfReward) if (reward > threshold) tokens += count;
  return tokens;
}
