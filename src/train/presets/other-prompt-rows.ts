import { type CorrectionLevel, truncatedRatio } from "../../loss/corrections.ts";
import type { Loss } from "../../loss/loss.ts";
import { totalsOf } from "../../loss/totals.ts";
import type { TrainRow } from "../../schema/train-batch.ts";

// Rows whose tokens were sampled for another prompt than the one they are learned with.

export interface WeightedRowsOptions {
  readonly cap: number;
  readonly level: CorrectionLevel;
  /** What the mean weight is reported as. */
  readonly metric: string;
}

/**
 * A loss in which the advantages of some rows are multiplied by min(π of this prompt / π of the one it was sampled for, `cap`).
 * Importance weights are never differentiated: with a loss that is proportional to advantages they may as well be in those.
 */
export function weightedRows(
  isMeant: (row: TrainRow) => boolean,
  loss: Loss,
  { cap, level, metric }: WeightedRowsOptions,
): Loss {
  const correction = truncatedRatio({ cap, level });
  return {
    ...loss,
    compute(rows, totals) {
      let [sum, count] = [0, 0];
      const corrected = rows.map((row) => {
        if (!isMeant(row)) return row;
        const weights_T = new Float64Array(row.mask_T.length).fill(1);
        correction.apply(row, weights_T);
        for (const [t, weight] of weights_T.entries()) {
          if (row.mask_T[t] === 0) continue;
          sum += weight;
          count++;
        }
        const advantages_T = row.advantages_T.map((advantage, t) => advantage * weights_T[t]);
        // what is corrected here is not corrected again by the loss itself
        return { ...row, advantages_T, behaviourLogprobs_T: row.oldLogprobs_T };
      });
      const result = loss.compute(corrected, totals);
      return count === 0 ? result : { ...result, metrics: { ...result.metrics, [metric]: sum / count } };
    },
  };
}

/**
 * A loss of some rows alone, with denominators of their own, as if the others were not in the batch. So the rows must be a
 * whole mini-batch, which is how the trainer calls it.
 */
export function onlyRows(isMeant: (row: TrainRow) => boolean, loss: Loss): Loss {
  return {
    ...loss,
    zeroGradient: (row) => !isMeant(row) || loss.zeroGradient?.(row) === true,
    compute(rows) {
      const masked = rows.map((row) => (isMeant(row) ? row : { ...row, mask_T: new Uint8Array(row.mask_T.length) }));
      return loss.compute(masked, totalsOf(masked));
    },
  };
}
