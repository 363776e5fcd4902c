import { commonPrefix } from "./common-prefix.ts";

/** What planning looks at. */
export interface PlannedRow {
  readonly tokens: Int32Array;
  /** Positions of predicted tokens. All before the last one is read. */
  readonly wanted: Int32Array;
}

/** Rows computed in one run: padded to the longest of them, or packed where that is faster. */
export interface MicroBatch {
  /** Numbers of the rows in the caller's order. */
  rows: readonly number[];
  /** Tokens of the prefix that all rows share and that is computed once; 0 where sharing is not worth it. */
  sharedPrefix: number;
  /** Tokens of the longest row, and of all rows, after the shared prefix. */
  length: number;
  tokens: number;
}

export interface MicroBatchOptions {
  /** Padded tokens a micro-batch may hold; a single longer row is a micro-batch of its own. */
  maxTokens: number;
  threads: number;
}

/** Fixed cost of a run, in tokens: operator calls, and gradients that are copied and accumulated. */
const runCost = 64;
/** Shorter prefixes are not worth the operators that sharing takes. */
const minSharedPrefix = 8;
/** Sharing must save at least this share of the slowest thread's work. */
const minSaving = 0.05;

/**
 * Cuts rows into micro-batches and assigns them to threads. A prefix that several rows share, such as the prompt of a group, is computed
 * once where that makes the slowest thread faster; other rows are sorted by length. The result depends on the rows alone, never on
 * timing, so accumulated gradients have the same bits every time.
 */
export function planMicroBatches(rows: readonly PlannedRow[], options: MicroBatchOptions): MicroBatch[][] {
  const all = rows.map((_, row) => row);
  const plain = assign(batchByLength(rows, all, options), options.threads);
  const groups = findPrefixGroups(rows);
  if (groups.length === 0) return plain;
  const grouped = new Set(groups.flatMap(({ members }) => members));
  const others = batchByLength(
    rows,
    all.filter((row) => !grouped.has(row)),
    options,
  );
  // groups are also cut into parts, or there might be fewer batches than threads
  const plans = [1, 2, options.threads].map((parts) => {
    const batches = groups.flatMap((group) => cutPrefixGroup(rows, group, options.maxTokens, parts));
    return assign([...batches, ...others], options.threads);
  });
  const best = plans.reduce((least, plan) => (slowest(plan) < slowest(least) ? plan : least));
  return slowest(best) < (1 - minSaving) * slowest(plain) ? best : plain;
}

/** Share of padding from which sequence packing is faster, although packed rows are padded and unpadded around every attention. */
const minPadding = 0.08;
/** What that costs, as a share of the tokens. */
const packingCost = 0.04;

export function packingPays(tokens: number, padded: number): boolean {
  return padded - tokens > minPadding * padded;
}

const lengthOf = ({ wanted }: PlannedRow) => wanted.at(-1)!;

/** What a batch costs, in tokens. */
export function workOf({ rows, sharedPrefix, length, tokens }: MicroBatch): number {
  const padded = rows.length * length;
  return sharedPrefix + (packingPays(tokens, padded) ? (1 + packingCost) * tokens : padded);
}

function slowest(plan: readonly (readonly MicroBatch[])[]): number {
  return Math.max(...plan.map((batches) => batches.reduce((sum, batch) => sum + runCost + workOf(batch), 0)));
}

/** Rows with the same prompt, longest first, and the length of their common prefix, which may be longer than the prompt. */
interface PrefixGroup {
  members: readonly number[];
  sharedPrefix: number;
}

function findPrefixGroups(rows: readonly PlannedRow[]): PrefixGroup[] {
  const byPrompt = Map.groupBy(
    rows.map((_, row) => row),
    (row) => rows[row].tokens.subarray(0, rows[row].wanted[0]).join(),
  );
  return [...byPrompt.values()].flatMap((members) => {
    const sorted = byLength(rows, members);
    const first = rows[members[0]];
    // every row keeps at least one token of its own, so that no batch is empty after its prefix
    const sharedPrefix = Math.min(
      ...members.map((row) => lengthOf(rows[row]) - 1),
      ...members.slice(1).map((row) => commonPrefix(first.tokens, rows[row].tokens)),
    );
    return members.length > 1 && sharedPrefix >= minSharedPrefix ? [{ members: sorted, sharedPrefix }] : [];
  });
}

function byLength(rows: readonly PlannedRow[], members: readonly number[]): number[] {
  return members.toSorted((a, b) => lengthOf(rows[b]) - lengthOf(rows[a]) || a - b);
}

function cutPrefixGroup(
  rows: readonly PlannedRow[],
  { members, sharedPrefix }: PrefixGroup,
  maxTokens: number,
  parts: number,
): MicroBatch[] {
  const ownTokens = (row: number) => lengthOf(rows[row]) - sharedPrefix;
  const most = Math.max(1, Math.floor((maxTokens - sharedPrefix) / ownTokens(members[0])));
  const count = Math.min(members.length, Math.max(parts, Math.ceil(members.length / most)));
  return Array.from({ length: count }, (_, i) => {
    const [start, end] = [i, i + 1].map((part) => Math.round((part * members.length) / count));
    const chosen = members.slice(start, end);
    const tokens = chosen.reduce((sum, row) => sum + ownTokens(row), 0);
    return { rows: chosen, sharedPrefix, length: ownTokens(chosen[0]), tokens };
  });
}

/** Batches of rows of about equal length that share no prefix. */
function batchByLength(
  rows: readonly PlannedRow[],
  members: readonly number[],
  { maxTokens, threads }: MicroBatchOptions,
): MicroBatch[] {
  const order = byLength(rows, members);
  const lengths = rows.map(lengthOf);
  const fewest = cut(order, lengths, maxTokens, Number.POSITIVE_INFINITY).length;
  // a multiple of the threads, so that none is idle at the end
  const count = Math.ceil(fewest / threads) * threads;
  const total = order.reduce((sum, row) => sum + lengths[row], 0);
  return cut(order, lengths, maxTokens, total / count);
}

/** Cuts sorted rows into batches of about `target` tokens and at most `maxTokens` padded ones. */
function cut(order: readonly number[], lengths: readonly number[], maxTokens: number, target: number): MicroBatch[] {
  const batches: MicroBatch[] = [];
  let done = 0;
  for (let i = 0; i < order.length; ) {
    const length = lengths[order[i]];
    const most = Math.max(1, Math.floor(maxTokens / length));
    const goal = (batches.length + 1) * target;
    let rows = 0;
    // a row belongs to the batch that its middle falls into
    while (i + rows < order.length && rows < most && (rows === 0 || done + lengths[order[i + rows]] / 2 <= goal)) {
      done += lengths[order[i + rows]];
      rows++;
    }
    const chosen = order.slice(i, i + rows);
    const tokens = chosen.reduce((sum, row) => sum + lengths[row], 0);
    batches.push({ rows: chosen, sharedPrefix: 0, length, tokens });
    i += rows;
  }
  return batches;
}

/** Longest work first, each to the thread with the least so far. */
function assign(batches: readonly MicroBatch[], threads: number): MicroBatch[][] {
  const loads = Array.from({ length: threads }, () => ({ work: 0, batches: [] as MicroBatch[] }));
  for (const batch of batches.toSorted((a, b) => workOf(b) - workOf(a))) {
    const lightest = loads.reduce((least, other) => (other.work < least.work ? other : least));
    lightest.batches.push(batch);
    lightest.work += workOf(batch);
  }
  return loads.map((load) => load.batches);
}
