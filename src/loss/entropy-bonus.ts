import { refuseUnknownOptions } from "../known-options.ts";
import { type Aggregation, coefficients } from "./aggregation.ts";
import type { Loss } from "./loss.ts";
import { present } from "./tokens.ts";
import { zerosOf } from "./zeros.ts";

export interface EntropyBonusOptions {
  readonly coefficient: number;
  readonly aggregation?: Aggregation;
}

/** Less the coefficient times the entropy of the distributions that tokens came from. */
export function entropyBonus(options: EntropyBonusOptions): Loss {
  refuseUnknownOptions("entropyBonus", options, { coefficient: true, aggregation: true });
  const { coefficient, aggregation = "token-mean" } = options;
  return {
    name: "entropy-bonus",
    needs: { entropies: true },
    compute(rows, totals) {
      let loss = 0;
      let sum = 0;
      const entropies_B_T = rows.map((row) => {
        const entropies_T = present(row.entropies_T, "entropies_T", row);
        const scale_T = coefficients(row, totals, aggregation);
        const derivatives_T = new Float32Array(entropies_T.length);
        for (let t = 0; t < entropies_T.length; t++) {
          if (row.mask_T[t] === 0) continue;
          sum += entropies_T[t];
          loss -= coefficient * scale_T[t] * entropies_T[t];
          derivatives_T[t] = -coefficient * scale_T[t];
        }
        return derivatives_T;
      });
      const metrics = { "entropy-bonus/entropy": sum / Math.max(1, totals.tokens) };
      return { loss, derivatives: { logprobs_B_T: zerosOf(rows), entropies_B_T }, metrics };
    },
  };
}
