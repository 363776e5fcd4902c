/** Token strings by id, and which two became one, in order of rank. */
export interface Merges {
  readonly tokens: readonly string[];
  readonly merges: readonly (readonly [left: string, right: string])[];
}

interface Pair {
  readonly left: number;
  readonly right: number;
  count: number;
  isMerged: boolean;
  /** Words the pair is or was in; looked at again when it is merged. */
  readonly words: Set<number>;
}

/**
 * Byte pair encoding: repeatedly merges the most frequent pair of adjacent tokens. Of equally frequent pairs the
 * one with the smaller ids comes first, so the same words always give the same merges. Stops early when no pair occurs
 * twice.
 *
 * Words are ids into the alphabet. Only the words a pair is in are touched when it is merged, and counts are corrected,
 * not counted again.
 */
export function mergePairs(
  words: readonly number[][],
  counts: readonly number[],
  { alphabet, vocabularySize }: { alphabet: readonly string[]; vocabularySize: number },
): Merges {
  const state = new PairCounts(words, counts);
  const tokens = [...alphabet];
  const ids = new Map(tokens.map((token, id) => [token, id]));
  const merges: [string, string][] = [];
  while (tokens.length < vocabularySize) {
    const pair = state.takeMostFrequent();
    if (pair === undefined || pair.count < 2) break;
    const [left, right] = [tokens[pair.left], tokens[pair.right]];
    // "aaaa" can come of aa+aa and of aaa+a: two merges, one token
    const id = ids.get(left + right) ?? tokens.push(left + right) - 1;
    ids.set(left + right, id);
    state.merge(pair, id);
    if (!pair.isMerged) merges.push([left, right]);
    pair.isMerged = true;
  }
  return { tokens, merges };
}

class PairCounts {
  readonly #words: number[][];
  readonly #counts: readonly number[];
  readonly #pairs = new Map<number, Pair>();
  readonly #heap: { pair: Pair; count: number }[] = [];

  constructor(words: readonly number[][], counts: readonly number[]) {
    this.#words = words.map((word) => [...word]);
    this.#counts = counts;
    for (const word of this.#words.keys()) this.#add(word, 1);
    for (const pair of this.#pairs.values()) this.#push(pair);
  }

  takeMostFrequent(): Pair | undefined {
    for (let top = this.#pop(); top !== undefined; top = this.#pop()) {
      // lazy heap: entries whose count has fallen are corrected here; counts that rose have a newer entry
      if (top.count === top.pair.count) return top.pair;
      if (top.pair.count > 0 && top.count > top.pair.count) this.#push(top.pair);
    }
    return undefined;
  }

  merge(pair: Pair, id: number): void {
    const before = new Map<Pair, number>();
    const remember = (touched: Pair) => {
      if (!before.has(touched)) before.set(touched, touched.count);
    };
    const words = [...pair.words];
    pair.words.clear();
    for (const word of words) {
      const symbols = this.#words[word];
      const merged = mergeInWord(symbols, pair, id);
      if (merged.length === symbols.length) continue;
      this.#add(word, -1, remember);
      this.#words[word] = merged;
      this.#add(word, 1, remember);
    }
    for (const [touched, count] of before) if (touched.count > count) this.#push(touched);
  }

  #add(word: number, sign: 1 | -1, remember?: (pair: Pair) => void): void {
    const symbols = this.#words[word];
    for (let index = 1; index < symbols.length; index++) {
      const pair = this.#pairOf(symbols[index - 1], symbols[index]);
      remember?.(pair);
      pair.count += sign * this.#counts[word];
      if (sign === 1) pair.words.add(word);
    }
  }

  #pairOf(left: number, right: number): Pair {
    const key = left * 2 ** 26 + right;
    let pair = this.#pairs.get(key);
    if (pair === undefined) {
      pair = { left, right, count: 0, isMerged: false, words: new Set() };
      this.#pairs.set(key, pair);
    }
    return pair;
  }

  #push(pair: Pair): void {
    const heap = this.#heap;
    let at = heap.push({ pair, count: pair.count }) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(heap[at], heap[parent])) break;
      [heap[at], heap[parent]] = [heap[parent], heap[at]];
      at = parent;
    }
  }

  #pop(): { pair: Pair; count: number } | undefined {
    const heap = this.#heap;
    const top = heap[0];
    const last = heap.pop();
    if (heap.length === 0 || last === undefined) return top;
    heap[0] = last;
    for (let at = 0; ; ) {
      let child = 2 * at + 1;
      if (child + 1 < heap.length && isBefore(heap[child + 1], heap[child])) child++;
      if (child >= heap.length || !isBefore(heap[child], heap[at])) return top;
      [heap[at], heap[child]] = [heap[child], heap[at]];
      at = child;
    }
  }
}

function isBefore(a: { pair: Pair; count: number }, b: { pair: Pair; count: number }): boolean {
  return (a.count - b.count || b.pair.left - a.pair.left || b.pair.right - a.pair.right) > 0;
}

function mergeInWord(symbols: readonly number[], pair: Pair, id: number): number[] {
  const merged: number[] = [];
  for (let index = 0; index < symbols.length; index++) {
    if (symbols[index] === pair.left && symbols[index + 1] === pair.right) {
      merged.push(id);
      index++;
    } else merged.push(symbols[index]);
  }
  return merged;
}
