import { LudusError } from "../errors.ts";
import type { TrainRow } from "../schema/train-batch.ts";
import type { LossTotals } from "./loss.ts";
import { maskedTokens } from "./tokens.ts";

/**
 * How the losses of tokens become one number. Sequences are rollouts: the rows of one weigh one together, and those without
 * a token with mask 1 do not count.
 *
 * - `token-mean`: over all tokens (DAPO, CISPO, VAPO)
 * - `seq-mean-token-mean`: over sequences of the mean over tokens (GRPO)
 * - `seq-mean-token-sum`: over sequences of the sum over tokens (DeepSWE)
 * - `seq-mean-token-sum-norm`: the same divided by a constant length (Dr.GRPO)
 * - `group-mean-token-mean`: over groups of the mean over the group's tokens
 * - `turn-mean`: over sequences of the mean over turns of the mean over tokens (M-GRPO's paper; its code is `seq-mean-token-mean`)
 */
export type Aggregation =
  | "token-mean"
  | "seq-mean-token-mean"
  | "seq-mean-token-sum"
  | { readonly mode: "seq-mean-token-sum-norm"; readonly length: number }
  | "group-mean-token-mean"
  | "turn-mean";

/**
 * What the loss of each token is multiplied with before adding up; 0 outside the mask. Denominators are those of the whole
 * mini-batch, or accumulating parts of it would change the objective.
 */
export function coefficients(row: TrainRow, totals: LossTotals, aggregation: Aggregation): Float64Array {
  const { mask_T } = row;
  const coefficients_T = new Float64Array(mask_T.length);
  const tokens = maskedTokens(mask_T);
  if (tokens === 0) return coefficients_T;
  if (aggregation === "turn-mean") return turnCoefficients(row, totals, tokens, coefficients_T);
  const each = tokenCoefficient(row, totals, aggregation, tokens);
  for (let t = 0; t < mask_T.length; t++) if (mask_T[t] !== 0) coefficients_T[t] = each;
  return coefficients_T;
}

/** What a row counts in a mean over rollouts. */
export function shareOf(row: TrainRow, totals: LossTotals): number {
  return row.weight / totals.weightOfRollout.get(row.rollout)! / totals.sequences;
}

function tokenCoefficient(
  row: TrainRow,
  totals: LossTotals,
  aggregation: Exclude<Aggregation, "turn-mean">,
  tokens: number,
): number {
  switch (aggregation) {
    case "token-mean":
      return 1 / totals.tokens;
    case "seq-mean-token-mean":
      return shareOf(row, totals) / tokens;
    case "seq-mean-token-sum":
      return 1 / totals.sequences;
    case "group-mean-token-mean":
      return 1 / (totals.groups * totals.tokensOfGroup.get(row.group)!);
    default:
      aggregation.mode satisfies "seq-mean-token-sum-norm";
      return 1 / (totals.sequences * aggregation.length);
  }
}

function turnCoefficients(
  row: TrainRow,
  totals: LossTotals,
  tokens: number,
  coefficients_T: Float64Array,
): Float64Array {
  let covered = 0;
  for (const { start, end } of row.turns) {
    const spoken = maskedTokens(row.mask_T, start, end);
    if (spoken === 0) continue;
    const each = 1 / (totals.sequences * totals.turnsOfRollout.get(row.rollout)! * spoken);
    for (let t = start; t < end; t++) if (row.mask_T[t] !== 0) coefficients_T[t] = each;
    covered += spoken;
  }
  if (covered !== tokens) {
    const got = `${tokens} tokens with mask 1, ${covered} of them in turns, in row ${row.id}`;
    throw new LudusError("bad-batch", { got, expected: "every token with mask 1 in one turn" });
  }
  return coefficients_T;
}
