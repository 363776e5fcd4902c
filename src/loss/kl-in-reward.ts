import type { TrainRow } from "../schema/train-batch.ts";
import { present } from "./tokens.ts";

/**
 * Rewards of tokens less β(log π_old - log π_reference), k1 of the policy that sampled: the penalty as part of what is earned,
 * for credit to see, instead of a term of the loss. 0 outside the mask.
 */
export function klInReward(row: TrainRow, rewards_T: Float32Array, coefficient: number): Float32Array {
  const { mask_T, oldLogprobs_T } = row;
  const reference_T = present(row.referenceLogprobs_T, "referenceLogprobs_T", row);
  const penalised_T = new Float32Array(mask_T.length);
  for (let t = 0; t < mask_T.length; t++) {
    if (mask_T[t] !== 0) penalised_T[t] = rewards_T[t] - coefficient * (oldLogprobs_T[t] - reference_T[t]);
  }
  return penalised_T;
}
