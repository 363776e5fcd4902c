import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { type Aggregation, coefficients } from "./aggregation.ts";
import type { Loss, LossRow, LossTotals } from "./loss.ts";
import { present } from "./tokens.ts";
import { zerosOf } from "./zeros.ts";

export interface ValueLossOptions {
  readonly coefficient: number;
  /** How far from its old value a value may move in one update and still be rewarded for it. Infinity does not clip. */
  readonly clipRange: number;
  readonly aggregation: Aggregation;
}

const defaults: ValueLossOptions = { coefficient: 1, clipRange: 0.5, aggregation: "token-mean" };

const known: KnownOptions<ValueLossOptions> = { coefficient: true, clipRange: true, aggregation: true };

/** ½·max((v - R)², (clip(v, v_old ± range) - R)²) of each token. */
export function valueLoss(options: Partial<ValueLossOptions> = {}): Loss {
  refuseUnknownOptions("valueLoss", options, known);
  const chosen = { ...defaults, ...options };
  return {
    name: "value-loss",
    needs: { values: true },
    compute(rows, totals) {
      const sums = { loss: 0, clipped: 0, squares: 0 };
      const values_B_T = rows.map((row) => differentiate(row, totals, chosen, sums));
      const tokens = Math.max(1, totals.tokens);
      const metrics = { "value/clip-fraction": sums.clipped / tokens, "value/squared-error": sums.squares / tokens };
      return { loss: sums.loss, derivatives: { logprobs_B_T: zerosOf(rows), values_B_T }, metrics };
    },
  };
}

function differentiate(
  row: LossRow,
  totals: LossTotals,
  { coefficient, clipRange, aggregation }: ValueLossOptions,
  sums: { loss: number; clipped: number; squares: number },
): Float32Array {
  const values_T = present(row.values_T, "values_T", row);
  const returns_T = present(row.returns_T, "returns_T", row);
  const old_T = clipRange === Number.POSITIVE_INFINITY ? values_T : present(row.oldValues_T, "oldValues_T", row);
  const scale_T = coefficients(row, totals, aggregation);
  const derivatives_T = new Float32Array(values_T.length);
  for (let t = 0; t < values_T.length; t++) {
    if (row.mask_T[t] === 0) continue;
    const error = values_T[t] - returns_T[t];
    const clippedValue = Math.max(old_T[t] - clipRange, Math.min(old_T[t] + clipRange, values_T[t]));
    const clippedError = clippedValue - returns_T[t];
    const isClipped = clippedError * clippedError > error * error;
    const counted = isClipped ? clippedError : error;
    sums.loss += coefficient * scale_T[t] * 0.5 * counted * counted;
    sums.squares += error * error;
    if (isClipped) sums.clipped++;
    else derivatives_T[t] = coefficient * scale_T[t] * error;
  }
  return derivatives_T;
}
