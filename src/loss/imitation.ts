import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { metric } from "../schema/metric-names.ts";
import type { TrainRow } from "../schema/train-batch.ts";
import { type Aggregation, coefficients } from "./aggregation.ts";
import type { Loss } from "./loss.ts";

export interface ImitationOptions {
  readonly aggregation: Aggregation;
  /** How much a row counts. Denominators count rows as they are, so weights with a mean of 1 keep the scale. */
  readonly weightOf: (row: TrainRow) => number;
}

const defaults: ImitationOptions = { aggregation: "token-mean", weightOf: () => 1 };

const known: KnownOptions<ImitationOptions> = { aggregation: true, weightOf: true };

/** -log π of the tokens with mask 1: behaviour cloning, supervised fine-tuning, rejection fine-tuning. */
export function imitation(options: Partial<ImitationOptions> = {}): Loss {
  refuseUnknownOptions("imitation", options, known);
  const { aggregation, weightOf } = { ...defaults, ...options };
  return {
    name: "imitation",
    needs: {},
    hasFixedDerivatives: true,
    zeroGradient: (row) => weightOf(row) === 0,
    compute(rows, totals) {
      let loss = 0;
      let nll = 0;
      const logprobs_B_T = rows.map((row) => {
        const weight = weightOf(row);
        const scale_T = coefficients(row, totals, aggregation);
        const derivatives_T = new Float32Array(scale_T.length);
        for (let t = 0; t < scale_T.length; t++) {
          if (row.mask_T[t] === 0) continue;
          nll -= row.logprobs_T[t];
          loss -= weight * scale_T[t] * row.logprobs_T[t];
          derivatives_T[t] = -weight * scale_T[t];
        }
        return derivatives_T;
      });
      return {
        loss,
        derivatives: { logprobs_B_T },
        metrics: { [metric.imitationLoss]: nll / Math.max(1, totals.tokens) },
      };
    },
  };
}
