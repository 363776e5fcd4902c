import { bounds } from "../bounds.ts";
import { defined } from "../defined.ts";
import { LudusError } from "../errors.ts";

/** Equal ranges: `a[a .. a+size)` and `b[b .. b+size)`. */
export interface MatchingBlock {
  a: number;
  b: number;
  size: number;
}

/** How to turn `a[aStart .. aEnd)` into `b[bStart .. bEnd)`. */
export interface Opcode {
  tag: "equal" | "replace" | "delete" | "insert";
  aStart: number;
  aEnd: number;
  bStart: number;
  bEnd: number;
}

export interface MatcherOptions {
  /**
   * Python's heuristic for 200 elements or more: an element that makes up over 1 % of `b` starts no match. Off for
   * `ratio` in SWE-RL; on inside Python's `unified_diff`.
   */
  autojunk: boolean;
  /** `bounds.comparisons` of its own by default. What takes more throws `too-much-to-compare`. */
  budget?: Budget;
}

const defaults: MatcherOptions = { autojunk: false };
type Element = string | number;
interface Region {
  aStart: number;
  aEnd: number;
  bStart: number;
  bEnd: number;
}

/** Comparisons that are left to a caller. Several comparisons may share one. */
export class Budget {
  #left: number;

  constructor(comparisons: number = bounds.comparisons) {
    this.#left = comparisons;
  }

  spend(comparisons: number): void {
    this.#left -= comparisons;
    if (this.#left >= 0) return;
    throw new LudusError("too-much-to-compare", {
      got: "texts that are too long, or too much like themselves",
      expected: `what takes at most ${bounds.comparisons} comparisons`,
    });
  }
}

/** Where each element occurs in `b`, in rising order. */
function positions<T extends Element>(b: readonly T[], autojunk: boolean): Map<T, number[]> {
  const found = new Map<T, number[]>();
  for (const [index, element] of b.entries()) {
    const list = found.get(element);
    if (list === undefined) found.set(element, [index]);
    else list.push(index);
  }
  if (!autojunk || b.length < 200) return found;
  const limit = Math.floor(b.length / 100) + 1;
  for (const [element, list] of found) if (list.length > limit) found.delete(element);
  return found;
}

/** The first index of a rising list whose number is at least `least`. */
function firstFrom(list: readonly number[], least: number): number {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] < least) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Finds the longest equal range of a region; among equals the first in `a`, then the first in `b`. */
function longestMatchFinder<T extends Element>(a: readonly T[], b: readonly T[], autojunk: boolean, budget: Budget) {
  const positionsInB = positions(b, autojunk);
  const none: readonly number[] = [];
  const lists = a.map((element) => positionsInB.get(element) ?? none);
  // run length of the match that ends at j: for the previous element of a, and for the current one
  let previous = new Int32Array(b.length + 1);
  let current = new Int32Array(b.length + 1);

  return ({ aStart, aEnd, bStart, bEnd }: Region): MatchingBlock => {
    let best: MatchingBlock = { a: aStart, b: bStart, size: 0 };
    const clear = (list: readonly number[]) => {
      for (let n = firstFrom(list, bStart); n < list.length && list[n] < bEnd; n++) previous[list[n] + 1] = 0;
    };
    let filled = none;
    for (let i = aStart; i < aEnd; i++) {
      const list = lists[i];
      const from = firstFrom(list, bStart);
      let n = from;
      for (; n < list.length && list[n] < bEnd; n++) {
        const j = list[n];
        const size = (j > bStart ? previous[j] : 0) + 1;
        current[j + 1] = size;
        if (size > best.size) best = { a: i - size + 1, b: j - size + 1, size };
      }
      budget.spend(1 + n - from);
      clear(filled);
      filled = list;
      [previous, current] = [current, previous];
    }
    clear(filled);
    // elements that autojunk kept from starting a match may still extend one
    while (best.a > aStart && best.b > bStart && a[best.a - 1] === b[best.b - 1]) {
      best = { a: best.a - 1, b: best.b - 1, size: best.size + 1 };
    }
    while (best.a + best.size < aEnd && best.b + best.size < bEnd && a[best.a + best.size] === b[best.b + best.size]) {
      best.size++;
    }
    return best;
  };
}

/**
 * The blocks of Python's `difflib.SequenceMatcher(None, a, b)`: the longest match, then the same on both sides of it
 * (Ratcliff and Obershelp). Neighbouring blocks are joined; the last block is empty, at the ends of both.
 */
export function matchingBlocks<T extends Element>(
  a: readonly T[],
  b: readonly T[],
  options: Partial<MatcherOptions> = {},
): MatchingBlock[] {
  const { autojunk, budget = new Budget() } = { ...defaults, ...options };
  const longestMatch = longestMatchFinder(a, b, autojunk, budget);
  const regions: Region[] = [{ aStart: 0, aEnd: a.length, bStart: 0, bEnd: b.length }];
  const found: MatchingBlock[] = [];
  for (let region = regions.pop(); region !== undefined; region = regions.pop()) {
    const match = longestMatch(region);
    if (match.size === 0) continue;
    found.push(match);
    const { aStart, aEnd, bStart, bEnd } = region;
    if (aStart < match.a && bStart < match.b) regions.push({ aStart, aEnd: match.a, bStart, bEnd: match.b });
    const aNext = match.a + match.size;
    const bNext = match.b + match.size;
    if (aNext < aEnd && bNext < bEnd) regions.push({ aStart: aNext, aEnd, bStart: bNext, bEnd });
  }
  found.sort((x, y) => x.a - y.a);
  const joined: MatchingBlock[] = [];
  for (const block of found) {
    const last = joined.at(-1);
    if (last !== undefined && last.a + last.size === block.a && last.b + last.size === block.b) last.size += block.size;
    else joined.push(block);
  }
  return [...joined, { a: a.length, b: b.length, size: 0 }];
}

/** Python's `SequenceMatcher.get_opcodes`. */
export function opcodes<T extends Element>(
  a: readonly T[],
  b: readonly T[],
  options: Partial<MatcherOptions> = {},
): Opcode[] {
  const codes: Opcode[] = [];
  let aStart = 0;
  let bStart = 0;
  for (const block of matchingBlocks(a, b, options)) {
    const inA = aStart < block.a;
    const inB = bStart < block.b;
    if (inA || inB) {
      const tag = inA && inB ? "replace" : inA ? "delete" : "insert";
      codes.push({ tag, aStart, aEnd: block.a, bStart, bEnd: block.b });
    }
    aStart = block.a + block.size;
    bStart = block.b + block.size;
    if (block.size > 0) codes.push({ tag: "equal", aStart: block.a, aEnd: aStart, bStart: block.b, bEnd: bStart });
  }
  return codes;
}

/** Twice the matched elements over all elements, in [0, 1]; two empty sequences are equal. */
export function sequenceRatio<T extends Element>(
  a: readonly T[],
  b: readonly T[],
  options: Partial<MatcherOptions> = {},
): number {
  const matched = matchingBlocks(a, b, options).reduce((sum, block) => sum + block.size, 0);
  return a.length + b.length === 0 ? 1 : (2 * matched) / (a.length + b.length);
}

/** `SequenceMatcher(None, a, b, autojunk=False).ratio()` of two texts, over code points as Python counts them. */
export function textRatio(a: string, b: string, budget?: Budget): number {
  return sequenceRatio([...a], [...b], defined({ budget }));
}
