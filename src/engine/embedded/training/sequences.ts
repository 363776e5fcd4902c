import type { WorkBatch, WorkOptions, WorkRow } from "../training-thread.ts";

/** Consecutive tokens of a chunk that attend to those before them, and to the first `before` tokens of the chunk. */
export interface Sequence {
  start: number;
  length: number;
  before: number;
}

/** A position whose next token has derivatives. */
export interface Wanted {
  /** The token of the chunk whose state predicts. */
  state: number;
  row: WorkRow;
  /** Its number among the row's wanted positions. */
  index: number;
}

/** Rows computed at once, as one list of tokens without padding; a shared prefix comes first. */
export interface Chunk {
  tokens: Int32Array;
  positions: Int32Array;
  sequences: readonly Sequence[];
  wanted: readonly Wanted[];
}

/** Tokens of a chunk, unless one row is longer: what is kept of it for the backward pass stays in the processor's cache. */
const chunkTokens = 512;

/** A micro-batch in chunks. Rows with a shared prefix stay together, so that it is computed once. */
export function chunksOf({ rows, sharedPrefix }: WorkBatch): Chunk[] {
  if (sharedPrefix > 0) return [makeChunk(rows, sharedPrefix)];
  const chunks: WorkRow[][] = [];
  let room = 0;
  for (const row of rows) {
    const length = row.wanted.at(-1)!;
    if (length > room) {
      chunks.push([]);
      room = chunkTokens;
    }
    chunks.at(-1)!.push(row);
    room -= length;
  }
  return chunks.map((chunk) => makeChunk(chunk, 0));
}

function makeChunk(rows: readonly WorkRow[], prefix: number): Chunk {
  const sequences: Sequence[] = prefix > 0 ? [{ start: 0, length: prefix, before: 0 }] : [];
  const wanted: Wanted[] = [];
  let end = prefix;
  for (const row of rows) {
    // the last wanted token is only predicted
    const length = row.wanted.at(-1)! - prefix;
    const start = end;
    if (length > 0) sequences.push({ start, length, before: prefix });
    row.wanted.forEach((t, index) => {
      wanted.push({ state: t <= prefix ? t - 1 : start + (t - 1 - prefix), row, index });
    });
    end += length;
  }
  const tokens = new Int32Array(end);
  const positions = Int32Array.from({ length: end }, (_, i) => i);
  tokens.set(rows[0].tokens.subarray(0, prefix));
  let at = prefix;
  for (const row of rows) {
    const length = row.wanted.at(-1)! - prefix;
    tokens.set(row.tokens.subarray(prefix, prefix + length), at);
    for (let t = 0; t < length; t++) positions[at + t] = prefix + t;
    at += length;
  }
  return { tokens, positions, sequences, wanted };
}

/** Derivatives of a wanted position. */
export function derivativesOf({ row, index }: Wanted, { candidates: count }: WorkOptions) {
  const derivatives = row.derivatives!;
  const from = index * count;
  const candidates = derivatives.candidates?.subarray(from, from + count);
  return {
    chosen: row.tokens[row.wanted[index]],
    logprob: derivatives.logprobs[index],
    entropy: derivatives.entropies?.[index] ?? 0,
    value: derivatives.values?.[index] ?? 0,
    candidates,
    candidateTokens: row.candidates?.subarray(from, from + count),
  };
}
