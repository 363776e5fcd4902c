/** A set of rows computed together, padded to the longest of them. */
export interface MicroBatch {
  /** Numbers of the rows in the caller's order. */
  rows: readonly number[];
  length: number;
}

export interface MicroBatchOptions {
  /** Padded tokens a micro-batch may hold; a single longer row is a micro-batch of its own. */
  maxTokens: number;
  threads: number;
}

/**
 * Rows sorted by length and cut into micro-batches, dealt to threads. The result depends on the lengths alone, never on
 * timing, so that sums of gradients are the same bits every time.
 */
export function planMicroBatches(
  lengths: readonly number[],
  { maxTokens, threads }: MicroBatchOptions,
): MicroBatch[][] {
  const order = lengths.map((_, row) => row).sort((a, b) => lengths[b]! - lengths[a]! || a - b);
  const total = lengths.reduce((a, b) => a + b, 0);
  // as many full rounds of equal batches as it takes, so that no thread waits for the others at the end
  const rounds = Math.max(1, Math.ceil(total / (maxTokens * threads)));
  const target = Math.min(maxTokens, Math.ceil(total / (rounds * threads)));
  const batches: MicroBatch[] = [];
  for (let i = 0; i < order.length; ) {
    const length = lengths[order[i]!]!;
    const count = Math.max(1, Math.min(Math.round(target / length), Math.floor(maxTokens / length)));
    batches.push({ rows: order.slice(i, i + count), length });
    i += count;
  }
  return deal(batches, threads);
}

/** Longest work first, each to the thread with the least so far. */
function deal(batches: MicroBatch[], threads: number): MicroBatch[][] {
  const hands = Array.from({ length: threads }, () => ({ work: 0, batches: [] as MicroBatch[] }));
  for (const batch of batches) {
    const hand = hands.reduce((least, other) => (other.work < least.work ? other : least));
    hand.batches.push(batch);
    hand.work += batch.rows.length * batch.length;
  }
  return hands.map((hand) => hand.batches);
}
