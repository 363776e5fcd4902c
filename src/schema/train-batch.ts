import { LudusError } from "../errors.ts";
import type { Span } from "./turn.ts";

/** One trajectory made ready to be learned from. Arrays of `T` tokens, aligned; what is not known is absent, never zeros. */
export interface TrainRow {
  readonly id: string;
  readonly group: string;
  readonly rollout: string;
  readonly role: string;
  readonly tokens_T: Int32Array;
  /** 1 where the loss applies. */
  readonly mask_T: Uint8Array;
  readonly turns: readonly Span[];
  /** Share of its rollout. */
  readonly weight: number;
  /** As sampled. */
  readonly behaviourLogprobs_T: Float32Array;
  /** Under the policy as it was when the update began; those of the sampling where that is the same policy. */
  readonly oldLogprobs_T: Float32Array;
  readonly referenceLogprobs_T?: Float32Array;
  readonly advantages_T: Float32Array;
  /** What values are to become. */
  readonly returns_T?: Float32Array;
  readonly oldValues_T?: Float32Array;
  readonly reward: number;
  /** What the policy should have said, as a distribution over some tokens at each position, such as what a search tried most. */
  readonly targets?: TokenTargets;
  /**
   * Of a row that is another view of its trajectory, such as one without a hint: token `t` here is token `t + viewOffset` there.
   * Present on every such row, 0 included. The row's `behaviourLogprobs_T` are of another prompt than its own.
   */
  readonly viewOffset?: number;
  /** Of a row that was sampled for another task (hindsight): `behaviourLogprobs_T` are of other prompts than its own. */
  readonly isRelabelled?: true;
  /** Preference learning: rows of one pair share a number. Without a pair, `chosen` says whether the row is desirable. */
  readonly preference?: { readonly pair?: number; readonly chosen: boolean };
}

/** Row-major `[T, K]`. Weights of a position add up to 1, or are all 0 where there is nothing to learn. */
export interface TokenTargets {
  readonly count: number;
  readonly tokens: Int32Array;
  readonly weights: Float32Array;
}

export interface TrainBatch {
  readonly rows: readonly TrainRow[];
}

/** The one place where batches are made: throws when a row's arrays do not line up or a number is not finite. */
export function makeTrainBatch(rows: readonly TrainRow[]): TrainBatch {
  for (const row of rows) {
    const T = row.tokens_T.length;
    for (const name of ["weight", "reward"] as const) {
      if (Number.isFinite(row[name])) continue;
      const got = `${name} = ${row[name]} in row ${row.id}`;
      throw new LudusError("bad-batch", { got, expected: "a finite number" });
    }
    const outside = row.turns.find(({ start, end }) => !(0 <= start && start <= end && end <= T));
    if (outside !== undefined) {
      const got = `turn of tokens ${outside.start} to ${outside.end} in row ${row.id}`;
      throw new LudusError("bad-batch", { got, expected: `turns within its ${T} tokens` });
    }
    checkTargets(row);
    for (const name of arrays) {
      const array_T = row[name];
      if (array_T === undefined) continue;
      if (array_T.length !== T) {
        throw new LudusError("bad-batch", { got: `${array_T.length} ${name} in row ${row.id}`, expected: `${T}` });
      }
      const wrong = array_T.findIndex((value) => !Number.isFinite(value));
      if (wrong >= 0) {
        throw new LudusError("bad-batch", {
          got: `${name}[${wrong}] = ${array_T[wrong]} in row ${row.id}`,
          expected: "a finite number",
        });
      }
    }
  }
  return { rows };
}

function checkTargets({ id, tokens_T, targets }: TrainRow): void {
  if (targets === undefined) return;
  const { count, tokens, weights } = targets;
  const size = tokens_T.length * count;
  if (tokens.length === size && weights.length === size && weights.every((weight) => Number.isFinite(weight))) return;
  throw new LudusError("bad-batch", {
    got: `targets of ${tokens.length} tokens and ${weights.length} weights in row ${id}`,
    expected: `${size} of each, ${count} for each of its tokens, and finite weights`,
  });
}

const arrays = [
  "mask_T",
  "behaviourLogprobs_T",
  "oldLogprobs_T",
  "referenceLogprobs_T",
  "advantages_T",
  "returns_T",
  "oldValues_T",
] as const;
