import type { TrainRow } from "../schema/train-batch.ts";

/**
 * From per-token numbers to per-token derivatives. A loss is a pure function of arrays; an engine turns the derivatives into
 * gradients, so a loss written here runs on every engine.
 *
 * Axes: `B` rows, `T` tokens of a row.
 *
 * Worked example, REINFORCE on one row whose last two tokens were sampled, advantage 1, mean over tokens:
 *
 *     const rows = [{ ...row, mask_T: Uint8Array.of(0, 1, 1), advantages_T: Float32Array.of(0, 1, 1),
 *                     logprobs_T: Float32Array.of(0, -0.5, -1) }];
 *     const result = reinforce({ aggregation: "token-mean" }).compute(rows, totalsOf(rows));
 *     result.loss;                                // 0.75 = -(1 * -0.5 + 1 * -1) / 2
 *     result.derivatives.logprobs_B_T[0];         // [0, -0.5, -0.5]
 */
export interface Loss {
  readonly name: string;
  readonly needs: LossNeeds;
  /**
   * Rows whose derivatives are all 0, whatever the policy says about them: no forward pass is made for these. Absent where every
   * row may have a gradient.
   */
  zeroGradient?(row: TrainRow): boolean;
  /**
   * The derivatives do not depend on what the policy says, as those of imitation: the backward pass is the only one, and loss and
   * metrics are measured on a few rows of the batch.
   */
  readonly hasFixedDerivatives?: boolean;
  /** `rows` may be a part of a mini-batch; `totals` are those of all of it, so that accumulation changes nothing. */
  compute(rows: readonly LossRow[], totals: LossTotals): LossResult;
}

export interface LossNeeds {
  /** `entropies_T`, and with them a forward pass even where sampled log-probabilities would do. */
  readonly entropies?: boolean;
  readonly values?: boolean;
  readonly reference?: boolean;
  /** Rows with `targets`, and `targetLogprobs_T` of them. */
  readonly targets?: boolean;
  /** Rows with `preference.pair`; all rows of a pair must be in the same part. */
  readonly pairs?: boolean;
}

/** A row of the batch and what the policy being trained says about it now. The arrays here are what is differentiated. */
export interface LossRow extends TrainRow {
  readonly logprobs_T: Float32Array;
  readonly entropies_T?: Float32Array;
  readonly values_T?: Float32Array;
  /** `[T, K]`, of the row's `targets`. */
  readonly targetLogprobs_T?: Float32Array;
}

/** Sums over a whole mini-batch, made by `totalsOf`: denominators, and what a loss takes for constant. */
export interface LossTotals {
  /** Tokens with mask 1. */
  readonly tokens: number;
  /** Rollouts with at least one token with mask 1; rows of one rollout weigh one. */
  readonly sequences: number;
  readonly groups: number;
  /** Tokens with mask 1 of each group. */
  readonly tokensOfGroup: ReadonlyMap<string, number>;
  /** Turns with mask 1 somewhere. */
  readonly turns: number;
  /** The same, of each rollout. */
  readonly turnsOfRollout: ReadonlyMap<string, number>;
  /** Weights of each rollout's rows with mask 1 somewhere, added up: what the weight of a row is a share of. */
  readonly weightOfRollout: ReadonlyMap<string, number>;
  /** Tokens with mask 1 by the reward of their row, from which those above any threshold can be counted. */
  readonly tokensOfReward: ReadonlyMap<number, number>;
  readonly pairs: number;
  /** Mean over rollouts of log π - log π_reference of all they sampled. Absent where a reference is. */
  readonly logRatio?: number;
}

export interface LossResult {
  readonly loss: number;
  readonly derivatives: {
    readonly logprobs_B_T: readonly Float32Array[];
    readonly entropies_B_T?: readonly Float32Array[];
    readonly values_B_T?: readonly Float32Array[];
    /** `[T, K]` per row, of its `targets`. */
    readonly targets_B_T?: readonly Float32Array[];
  };
  /** Sums over tokens are divided by the totals, so metrics of the parts of a mini-batch add up to those of the whole. */
  readonly metrics: Readonly<Record<string, number>>;
  /** Metrics of which the greatest of all parts counts. */
  readonly maxima?: Readonly<Record<string, number>>;
}
