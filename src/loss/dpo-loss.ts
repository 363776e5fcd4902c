import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { refuseWithoutEffect } from "../option-without-effect.ts";
import { referenceLogRatio, spread } from "./log-ratio.ts";
import { sigmoid, softplus } from "./logistic.ts";
import type { Loss, LossRow } from "./loss.ts";
import { maskedTokens } from "./tokens.ts";

export interface DpoLossOptions {
  readonly beta: number;
  /** Probability that a label is wrong (conservative DPO); of the `sigmoid` variant alone. */
  readonly labelSmoothing: number;
  /** `ipo`: (margin - 1/(2β))² of log-ratios per token, the normalised form that the paper's results are of. */
  readonly variant: "sigmoid" | "ipo";
}

/** What may be given: `ipo` has no label smoothing. */
export type DpoLossChoice = Partial<DpoLossOptions> &
  ({ readonly variant?: "sigmoid" } | { readonly variant: "ipo"; readonly labelSmoothing?: never });

const defaults: DpoLossOptions = { beta: 0.1, labelSmoothing: 0, variant: "sigmoid" };

const known: KnownOptions<DpoLossChoice> = { beta: true, labelSmoothing: true, variant: true };

/**
 * -log σ(β(log π/π_ref of chosen - of rejected)), mean over pairs. What a pair compares is in the data: whole trajectories, whose
 * rows on one side are added up, or single steps, as rows whose mask covers one turn.
 */
export function dpoLoss(options: DpoLossChoice = {}): Loss {
  refuseUnknownOptions("dpoLoss", options, known);
  if (options.variant === "ipo") {
    refuseWithoutEffect("dpoLoss", options, ["labelSmoothing"], {
      when: 'with variant "ipo"',
      hint: 'Leave it out, or use variant "sigmoid".',
    });
  }
  const chosen = { ...defaults, ...options };
  return {
    name: "dpo",
    needs: { reference: true, pairs: true },
    compute(rows, totals) {
      const logprobs_B_T = rows.map((row) => new Float32Array(row.mask_T.length));
      const sums = { loss: 0, accuracy: 0, margin: 0, chosen: 0, rejected: 0 };
      for (const pair of pairsOf(rows)) {
        const { margin, chosenScale, rejectedScale } = compare(pair, chosen.variant);
        const { value, slope } = pairLoss(margin, chosen);
        sums.loss += value / totals.pairs;
        sums.margin += (chosen.beta * margin) / totals.pairs;
        sums.accuracy += margin > 0 ? 1 / totals.pairs : 0;
        sums.chosen += (chosen.beta * pair.chosen.logRatio) / totals.pairs;
        sums.rejected += (chosen.beta * pair.rejected.logRatio) / totals.pairs;
        for (const b of pair.chosen.rows) {
          spread((slope * chosenScale) / totals.pairs, rows[b].mask_T, logprobs_B_T[b]);
        }
        for (const b of pair.rejected.rows) {
          spread((-slope * rejectedScale) / totals.pairs, rows[b].mask_T, logprobs_B_T[b]);
        }
      }
      const metrics = {
        "dpo/accuracy": sums.accuracy,
        "dpo/margin": sums.margin,
        "dpo/reward-chosen": sums.chosen,
        "dpo/reward-rejected": sums.rejected,
      };
      return { loss: sums.loss, derivatives: { logprobs_B_T }, metrics };
    },
  };
}

interface Side {
  readonly rows: number[];
  logRatio: number;
  tokens: number;
}

interface Pair {
  readonly chosen: Side;
  readonly rejected: Side;
}

function pairsOf(rows: readonly LossRow[]): Iterable<Pair> {
  const pairs = new Map<number, Pair>();
  for (const [b, row] of rows.entries()) {
    const { preference } = row;
    if (preference?.pair === undefined) {
      throw new LudusError("missing-input", { got: `no pair in row ${row.id}`, expected: "it in every row" });
    }
    const pair = pairs.get(preference.pair) ?? { chosen: newSide(), rejected: newSide() };
    pairs.set(preference.pair, pair);
    const side = preference.chosen ? pair.chosen : pair.rejected;
    side.rows.push(b);
    side.logRatio += referenceLogRatio(row);
    side.tokens += maskedTokens(row.mask_T);
  }
  for (const [number, { chosen, rejected }] of pairs) {
    if (chosen.rows.length > 0 && rejected.rows.length > 0) continue;
    const got = `pair ${number} with ${chosen.rows.length} chosen and ${rejected.rows.length} rejected rows`;
    const hint = "Keep the rows of a pair in one part of the mini-batch.";
    throw new LudusError("broken-pair", { got, expected: "one or more of each", hint });
  }
  return pairs.values();
}

const newSide = (): Side => ({ rows: [], logRatio: 0, tokens: 0 });

function compare({ chosen, rejected }: Pair, variant: DpoLossOptions["variant"]) {
  const chosenScale = variant === "ipo" ? 1 / Math.max(1, chosen.tokens) : 1;
  const rejectedScale = variant === "ipo" ? 1 / Math.max(1, rejected.tokens) : 1;
  return {
    margin: chosenScale * chosen.logRatio - rejectedScale * rejected.logRatio,
    chosenScale,
    rejectedScale,
  };
}

function pairLoss(margin: number, { beta, labelSmoothing, variant }: DpoLossOptions): { value: number; slope: number } {
  switch (variant) {
    case "sigmoid": {
      const x = beta * margin;
      const value = (1 - labelSmoothing) * softplus(-x) + labelSmoothing * softplus(x);
      return { value, slope: beta * (sigmoid(x) - 1 + labelSmoothing) };
    }
    case "ipo": {
      const error = margin - 1 / (2 * beta);
      return { value: error * error, slope: 2 * error };
    }
  }
}
