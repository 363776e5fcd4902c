import { defined } from "../defined.ts";
import type { TrainRow } from "../schema/train-batch.ts";
import type { LossTotals } from "./loss.ts";
import { maskedTokens } from "./tokens.ts";

/** A row before the forward pass or after it. */
export type CountedRow = TrainRow & { readonly logprobs_T?: Float32Array };

/**
 * The totals of a mini-batch: all its rows, whatever the parts they are computed in. Rows need no forward pass yet; `logRatio`
 * is of the newest log-probabilities that the rows have, `logprobs_T` or else `oldLogprobs_T`.
 */
export function totalsOf(rows: readonly CountedRow[]): LossTotals {
  const tokensOfGroup = new Map<string, number>();
  const turnsOfRollout = new Map<string, number>();
  const weightOfRollout = new Map<string, number>();
  const tokensOfReward = new Map<number, number>();
  const pairs = new Set<number>();
  const counted = rows.filter((row) => row.mask_T.includes(1));
  let tokens = 0;
  let turns = 0;
  for (const row of counted) {
    const count = maskedTokens(row.mask_T);
    const spoken = row.turns.filter(({ start, end }) => maskedTokens(row.mask_T, start, end) > 0).length;
    tokens += count;
    turns += spoken;
    add(tokensOfGroup, row.group, count);
    add(turnsOfRollout, row.rollout, spoken);
    add(weightOfRollout, row.rollout, row.weight);
    add(tokensOfReward, row.reward, count);
  }
  for (const { preference } of rows) {
    if (preference?.pair !== undefined) pairs.add(preference.pair);
  }
  const sequences = weightOfRollout.size;
  const logRatio = meanLogRatio(counted, weightOfRollout);
  return {
    tokens,
    sequences,
    groups: tokensOfGroup.size,
    tokensOfGroup,
    turns,
    turnsOfRollout,
    weightOfRollout,
    tokensOfReward,
    pairs: pairs.size,
    ...defined({ logRatio }),
  };
}

function meanLogRatio(rows: readonly CountedRow[], weightOfRollout: ReadonlyMap<string, number>): number | undefined {
  if (rows.length === 0) return undefined;
  let mean = 0;
  for (const { logprobs_T, oldLogprobs_T, referenceLogprobs_T, mask_T, weight, rollout } of rows) {
    if (referenceLogprobs_T === undefined) return undefined;
    const newest_T = logprobs_T ?? oldLogprobs_T;
    let sum = 0;
    for (let t = 0; t < mask_T.length; t++) {
      if (mask_T[t] !== 0) sum += newest_T[t] - referenceLogprobs_T[t];
    }
    mean += ((weight / weightOfRollout.get(rollout)!) * sum) / weightOfRollout.size;
  }
  return mean;
}

function add<Key>(sums: Map<Key, number>, key: Key, value: number): void {
  sums.set(key, (sums.get(key) ?? 0) + value);
}
