import { metric } from "../schema/metric-names.ts";
import type { Loss } from "./loss.ts";
import { present } from "./tokens.ts";
import { zerosOf } from "./zeros.ts";

/**
 * Cross-entropy between what a search tried most and what the policy would say: −Σ w log π over the candidates of each token, mean over tokens
 * with mask 1. With one candidate of weight 1, it is imitation.
 */
export function searchDistillation(): Loss {
  return {
    name: "search-distillation",
    needs: { targets: true },
    zeroGradient: ({ targets }) => targets === undefined,
    compute(rows, totals) {
      let loss = 0;
      const scale = 1 / Math.max(1, totals.tokens);
      const targets_B_T = rows.map((row) => {
        if (row.targets === undefined) return new Float32Array(0);
        const { count, weights } = row.targets;
        const logprobs_T = present(row.targetLogprobs_T, "targetLogprobs_T", row);
        return weights.map((weight, index) => {
          if (weight === 0 || row.mask_T[Math.floor(index / count)] === 0) return 0;
          loss -= scale * weight * logprobs_T[index];
          return -scale * weight;
        });
      });
      return {
        loss,
        derivatives: { logprobs_B_T: zerosOf(rows), targets_B_T },
        metrics: { [metric.imitationLoss]: loss },
      };
    },
  };
}
