import { commonPrefix } from "./common-prefix.ts";

/** What planning looks at. */
export interface PlannedRow {
  readonly tokens: Int32Array;
  /** Positions of predicted tokens. All before the last one is read. */
  readonly wanted: Int32Array;
}

/** A set of rows computed together: padded to the longest of them, or, where that pays, one behind the other. */
export interface MicroBatch {
  /** Numbers of the rows in the caller's order. */
  rows: readonly number[];
  /** Tokens that all rows begin with and that are computed once; 0 where that does not pay. */
  root: number;
  /** Tokens of the longest row, and of all rows, behind the root. */
  length: number;
  tokens: number;
}

export interface MicroBatchOptions {
  /** Padded tokens a micro-batch may hold; a single longer row is a micro-batch of its own. */
  maxTokens: number;
  threads: number;
}

/** What a run costs besides its tokens, in tokens: calls of operators, and gradients that are copied and added up. */
const runTokens = 64;
/** Shorter beginnings are not worth the operators that sharing takes. */
const leastRoot = 8;
/** Sharing must save so much. */
const leastSaving = 0.05;

/**
 * Rows cut into micro-batches and dealt to threads. The prompt that attempts of a group have in common is computed once where that
 * makes the slowest thread faster; other rows are sorted by length. The result depends on the rows alone, never on timing, so that
 * sums of gradients are the same bits every time.
 */
export function planMicroBatches(rows: readonly PlannedRow[], options: MicroBatchOptions): MicroBatch[][] {
  const all = rows.map((_, row) => row);
  const plain = deal(separate(rows, all, options), options.threads);
  const families = familiesOf(rows);
  if (families.length === 0) return plain;
  const inFamily = new Set(families.flatMap(({ members }) => members));
  const others = separate(
    rows,
    all.filter((row) => !inFamily.has(row)),
    options,
  );
  // families are cut smaller too, lest there be fewer batches than threads
  const plans = [1, 2, options.threads].map((parts) => {
    const together = families.flatMap((family) => cutFamily(rows, family, options.maxTokens, parts));
    return deal([...together, ...others], options.threads);
  });
  const best = plans.reduce((least, plan) => (slowest(plan) < slowest(least) ? plan : least));
  return slowest(best) < (1 - leastSaving) * slowest(plain) ? best : plain;
}

/** Padding must be so much of the tokens that rows without it are faster, though they are rearranged around every attention. */
const leastPadding = 0.08;
/** What rearranging costs, as a share of the tokens. */
const packingCost = 0.04;

export function packingPays(tokens: number, padded: number): boolean {
  return padded - tokens > leastPadding * padded;
}

const lengthOf = ({ wanted }: PlannedRow) => wanted.at(-1)!;

/** What a batch costs, in tokens. */
export function workOf({ rows, root, length, tokens }: MicroBatch): number {
  const padded = rows.length * length;
  return root + (packingPays(tokens, padded) ? (1 + packingCost) * tokens : padded);
}

function slowest(plan: readonly (readonly MicroBatch[])[]): number {
  return Math.max(...plan.map((batches) => batches.reduce((sum, batch) => sum + runTokens + workOf(batch), 0)));
}

interface Family {
  members: readonly number[];
  root: number;
}

/** Rows with the same prompt, longest first, and how many tokens all of them begin with. */
function familiesOf(rows: readonly PlannedRow[]): Family[] {
  const groups = Map.groupBy(
    rows.map((_, row) => row),
    (row) => rows[row].tokens.subarray(0, rows[row].wanted[0]).join(),
  );
  return [...groups.values()].flatMap((members) => {
    const sorted = byLength(rows, members);
    const first = rows[members[0]];
    // something is left of every row, so that no batch is empty behind its root
    const root = Math.min(
      ...members.map((row) => lengthOf(rows[row]) - 1),
      ...members.slice(1).map((row) => commonPrefix(first.tokens, rows[row].tokens)),
    );
    return members.length > 1 && root >= leastRoot ? [{ members: sorted, root }] : [];
  });
}

function byLength(rows: readonly PlannedRow[], members: readonly number[]): number[] {
  return members.toSorted((a, b) => lengthOf(rows[b]) - lengthOf(rows[a]) || a - b);
}

function cutFamily(
  rows: readonly PlannedRow[],
  { members, root }: Family,
  maxTokens: number,
  parts: number,
): MicroBatch[] {
  const behind = (row: number) => lengthOf(rows[row]) - root;
  const most = Math.max(1, Math.floor((maxTokens - root) / behind(members[0])));
  const count = Math.min(members.length, Math.max(parts, Math.ceil(members.length / most)));
  return Array.from({ length: count }, (_, i) => {
    const [start, end] = [i, i + 1].map((part) => Math.round((part * members.length) / count));
    const chosen = members.slice(start, end);
    const tokens = chosen.reduce((sum, row) => sum + behind(row), 0);
    return { rows: chosen, root, length: behind(chosen[0]), tokens };
  });
}

/** Batches of rows that share nothing, of about equal length. */
function separate(
  rows: readonly PlannedRow[],
  members: readonly number[],
  { maxTokens, threads }: MicroBatchOptions,
): MicroBatch[] {
  const order = byLength(rows, members);
  const lengths = rows.map(lengthOf);
  const fewest = cut(order, lengths, maxTokens, Number.POSITIVE_INFINITY).length;
  // as many batches as fill whole rounds of the threads, so that none waits for the others at the end
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
    batches.push({ rows: chosen, root: 0, length, tokens });
    i += rows;
  }
  return batches;
}

/** Longest work first, each to the thread with the least so far. */
function deal(batches: readonly MicroBatch[], threads: number): MicroBatch[][] {
  const hands = Array.from({ length: threads }, () => ({ work: 0, batches: [] as MicroBatch[] }));
  for (const batch of batches.toSorted((a, b) => workOf(b) - workOf(a))) {
    const hand = hands.reduce((least, other) => (other.work < least.work ? other : least));
    hand.batches.push(batch);
    hand.work += workOf(batch);
  }
  return hands.map((hand) => hand.batches);
}
