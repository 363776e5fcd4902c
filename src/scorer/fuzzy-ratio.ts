import { bounds } from "../bounds.ts";
import { roundHalfEven, splitWords, strip } from "./python-strings.ts";

// thefuzz takes its ratio from python-Levenshtein (later rapidfuzz) where that is installed, as WebShop does, and from difflib
// otherwise. This is the former: twice the longest common subsequence over both lengths, which can exceed difflib's ratio.

/** thefuzz's `ratio`: likeness of two texts as a whole number in 0..100; 0 where one is empty, or beyond `bounds.comparisons`. */
export function fuzzyRatio(a: string, b: string): number {
  const [x, y] = [[...a], [...b]];
  if (x.length === 0 || y.length === 0 || x.length * y.length > bounds.comparisons) return 0;
  return roundHalfEven((200 * commonSubsequence(x, y)) / (x.length + y.length));
}

/**
 * thefuzz's `token_set_ratio`: the best ratio between the shared words, and the shared words with what either text has
 * besides. 100 where the words of one are all in the other.
 */
export function tokenSetRatio(a: string, b: string): number {
  const [x, y] = [wordSet(a), wordSet(b)];
  if (x.size === 0 || y.size === 0) return 0;
  const sorted = (words: readonly string[]) => words.toSorted().join(" ");
  const shared = sorted([...x].filter((word) => y.has(word)));
  const left = strip(`${shared} ${sorted([...x].filter((word) => !y.has(word)))}`);
  const right = strip(`${shared} ${sorted([...y].filter((word) => !x.has(word)))}`);
  return Math.max(fuzzyRatio(shared, left), fuzzyRatio(shared, right), fuzzyRatio(left, right));
}

function wordSet(text: string): Set<string> {
  return new Set(splitWords(text.replace(/[^\p{L}\p{N}_]/gu, " ").toLowerCase()));
}

function commonSubsequence(a: readonly string[], b: readonly string[]): number {
  let previous = new Int32Array(b.length + 1);
  let current = new Int32Array(b.length + 1);
  for (const element of a) {
    for (let j = 0; j < b.length; j++) {
      current[j + 1] = element === b[j] ? previous[j] + 1 : Math.max(previous[j + 1], current[j]);
    }
    [previous, current] = [current, previous];
  }
  return previous[b.length];
}
