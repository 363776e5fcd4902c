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
  const fewest = cut(order, lengths, maxTokens, Number.POSITIVE_INFINITY).length;
  // as many batches as fill whole rounds of the threads, so that none waits for the others at the end
  const count = Math.ceil(fewest / threads) * threads;
  const total = lengths.reduce((a, b) => a + b, 0);
  return deal(cut(order, lengths, maxTokens, total / count), threads);
}

/** Cuts sorted rows into batches of about `target` tokens and at most `maxTokens` padded ones. */
function cut(order: readonly number[], lengths: readonly number[], maxTokens: number, target: number): MicroBatch[] {
  const batches: MicroBatch[] = [];
  let done = 0;
  for (let i = 0; i < order.length; ) {
    const length = lengths[order[i]!]!;
    const most = Math.max(1, Math.floor(maxTokens / length));
    const goal = (batches.length + 1) * target;
    let rows = 0;
    // a row belongs to the batch that its middle falls into
    while (i + rows < order.length && rows < most && (rows === 0 || done + lengths[order[i + rows]!]! / 2 <= goal)) {
      done += lengths[order[i + rows]!]!;
      rows++;
    }
    batches.push({ rows: order.slice(i, i + rows), length });
    i += rows;
  }
  return batches;
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
