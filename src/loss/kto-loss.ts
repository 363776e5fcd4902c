import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { shareOf } from "./aggregation.ts";
import { referenceLogRatio, spread } from "./log-ratio.ts";
import { sigmoid } from "./logistic.ts";
import type { Loss, LossRow, LossTotals } from "./loss.ts";

export interface KtoLossOptions {
  readonly beta: number;
  /** λ_D. */
  readonly desirableWeight: number;
  /** λ_U. */
  readonly undesirableWeight: number;
}

const defaults: KtoLossOptions = { beta: 0.1, desirableWeight: 1, undesirableWeight: 1 };

const known: KnownOptions<KtoLossOptions> = { beta: true, desirableWeight: true, undesirableWeight: true };

/**
 * λ(1 - σ(±β(log π/π_ref - z))), mean over rollouts, + for desirable rows and - for the others. z is `totals.logRatio`, at least 0
 * and constant: the divergence of the mini-batch's own rows. The paper estimates it on prompts with each other's answers,
 * which would have to be run through the model for nothing else.
 */
export function ktoLoss(options: Partial<KtoLossOptions> = {}): Loss {
  refuseUnknownOptions("ktoLoss", options, known);
  const chosen = { ...defaults, ...options };
  return {
    name: "kto",
    needs: { reference: true },
    compute(rows, totals) {
      const baseline = baselineOf(totals);
      let loss = 0;
      let reward = 0;
      const logprobs_B_T = rows.map((row) => {
        const derivatives_T = new Float32Array(row.mask_T.length);
        const sign = signOf(row);
        const logRatio = referenceLogRatio(row);
        if (!row.mask_T.includes(1)) return derivatives_T;
        const share = shareOf(row, totals);
        const value = sigmoid(sign * chosen.beta * (logRatio - baseline));
        const weight = share * (sign > 0 ? chosen.desirableWeight : chosen.undesirableWeight);
        loss += weight * (1 - value);
        reward += share * sign * chosen.beta * logRatio;
        spread(-weight * sign * chosen.beta * value * (1 - value), row.mask_T, derivatives_T);
        return derivatives_T;
      });
      const baselineShare = rows.reduce((sum, row) => sum + (row.mask_T.includes(1) ? shareOf(row, totals) : 0), 0);
      const metrics = { "kto/margin": reward, "kto/baseline": baseline * baselineShare };
      return { loss, derivatives: { logprobs_B_T }, metrics };
    },
  };
}

function baselineOf({ tokens, logRatio }: LossTotals): number {
  if (logRatio !== undefined || tokens === 0) return Math.max(0, logRatio ?? 0);
  const expected = "one: referenceLogprobs_T in every row of the mini-batch";
  throw new LudusError("missing-input", { got: "totals without logRatio", expected });
}

function signOf(row: LossRow): 1 | -1 {
  if (row.preference !== undefined) return row.preference.chosen ? 1 : -1;
  throw new LudusError("missing-input", { got: `no preference in row ${row.id}`, expected: "it in every row" });
}
