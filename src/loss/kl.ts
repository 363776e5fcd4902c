import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { type Aggregation, coefficients } from "./aggregation.ts";
import type { Loss } from "./loss.ts";
import { present } from "./tokens.ts";

/** With d = log π - log π_reference: k1 = d, k2 = d²/2, k3 = e^-d + d - 1. */
export type KlEstimator = "k1" | "k2" | "k3";

export interface KlOptions {
  readonly coefficient: number;
  readonly estimator: KlEstimator;
  /**
   * `k2`: the value of the estimator with k2's gradient, verl's "k3+". The expectation of k2's gradient is that of the KL
   * divergence; k3's is not, and k1's is 0.
   */
  readonly gradient: "own" | "k2";
  readonly aggregation: Aggregation;
}

const defaults: Omit<KlOptions, "coefficient"> = { estimator: "k3", gradient: "own", aggregation: "token-mean" };

const known: KnownOptions<KlOptions> = { coefficient: true, estimator: true, gradient: true, aggregation: true };

/** β·KL(π, π_reference), estimated at each token. The value is of tokens that π, or an older version, sampled. */
export function klPenalty(options: Partial<KlOptions> & Pick<KlOptions, "coefficient">): Loss {
  refuseUnknownOptions("klPenalty", options, known);
  const { coefficient, estimator, gradient, aggregation } = { ...defaults, ...options };
  const slopeOf = gradient === "k2" ? "k2" : estimator;
  return {
    name: "kl-penalty",
    needs: { reference: true },
    compute(rows, totals) {
      let loss = 0;
      const logprobs_B_T = rows.map((row) => {
        const { logprobs_T, mask_T } = row;
        const reference_T = present(row.referenceLogprobs_T, "referenceLogprobs_T", row);
        const scale_T = coefficients(row, totals, aggregation);
        const derivatives_T = new Float32Array(mask_T.length);
        for (let t = 0; t < mask_T.length; t++) {
          if (mask_T[t] === 0) continue;
          const d = logprobs_T[t] - reference_T[t];
          const value = klValue(estimator, d);
          loss += coefficient * scale_T[t] * value;
          derivatives_T[t] = coefficient * scale_T[t] * klSlope(slopeOf, d);
        }
        return derivatives_T;
      });
      return { loss, derivatives: { logprobs_B_T }, metrics: {} };
    },
  };
}

// verl's: they keep k3 from overflowing. Where one of them acts k3 has no gradient; that of k2 never vanishes.
const maxLogRatio = 20;
const maxK3 = 10;

export function klValue(estimator: KlEstimator, d: number): number {
  switch (estimator) {
    case "k1":
      return d;
    case "k2":
      return (d * d) / 2;
    case "k3": {
      const clamped = Math.max(-maxLogRatio, Math.min(maxLogRatio, d));
      return Math.min(maxK3, Math.expm1(-clamped) + clamped);
    }
  }
}

/** Derivative with respect to d. */
export function klSlope(estimator: KlEstimator, d: number): number {
  switch (estimator) {
    case "k1":
      return 1;
    case "k2":
      return d;
    case "k3":
      return Math.abs(d) > maxLogRatio || Math.expm1(-d) + d > maxK3 ? 0 : -Math.expm1(-d);
  }
}
