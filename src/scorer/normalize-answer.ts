import { splitWords } from "./python-strings.ts";

const punctuation = /[!"#$%&'()*+,\-./:;<=>?@[\\\]^_`{|}~]/g;
// a word's edge as Python sees it: letters of every script count
const articles = /(?<![\p{L}\p{N}_])(?:a|an|the)(?![\p{L}\p{N}_])/gu;
const closedAnswers = new Set(["yes", "no", "noanswer"]);

/** SQuAD's normal form: lower case, no ASCII punctuation, no articles, single spaces. */
export function normalizeAnswer(text: string): string {
  return splitWords(text.toLowerCase().replace(punctuation, "").replace(articles, " ")).join(" ");
}

/** 1 where the normal form of the prediction is that of some gold answer, else 0. */
export function exactMatchScore(prediction: string, golds: string | readonly string[]): number {
  const normal = normalizeAnswer(prediction);
  return list(golds).some((gold) => normalizeAnswer(gold) === normal) ? 1 : 0;
}

/** 1 where some gold answer occurs in the prediction, both in normal form. A gold without words must equal it. */
export function substringMatchScore(prediction: string, golds: string | readonly string[]): number {
  const normal = normalizeAnswer(prediction);
  const isIn = (gold: string) => (gold === "" ? normal === "" : normal.includes(gold));
  return list(golds).some((gold) => isIn(normalizeAnswer(gold))) ? 1 : 0;
}

/**
 * The best F1 over the words of prediction and gold, as in SQuAD; as in HotpotQA and ReSearch, `yes`, `no` and
 * `noanswer` count only when equal. No word in common, no words at all included, is 0.
 */
export function tokenF1(prediction: string, golds: string | readonly string[]): number {
  return Math.max(0, ...list(golds).map((gold) => oneF1(normalizeAnswer(prediction), normalizeAnswer(gold))));
}

function oneF1(prediction: string, gold: string): number {
  if (prediction !== gold && (closedAnswers.has(prediction) || closedAnswers.has(gold))) return 0;
  const predicted = splitWords(prediction);
  const wanted = splitWords(gold);
  const left = new Map<string, number>();
  for (const word of wanted) left.set(word, (left.get(word) ?? 0) + 1);
  let same = 0;
  for (const word of predicted) {
    const count = left.get(word) ?? 0;
    if (count === 0) continue;
    left.set(word, count - 1);
    same++;
  }
  if (same === 0) return 0;
  const precision = same / predicted.length;
  const recall = same / wanted.length;
  return (2 * precision * recall) / (precision + recall);
}

function list(golds: string | readonly string[]): readonly string[] {
  return typeof golds === "string" ? [golds] : golds;
}
