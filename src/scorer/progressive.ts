import { LudusError } from "../errors.ts";
import { normalizeAnswer } from "./normalize-answer.ts";
import { splitWords } from "./python-strings.ts";

/** What has to hold for each stage to count. `answer` is a score in [0, 1]. */
export interface Stages {
  /** The output can be parsed. */
  parsed: boolean;
  /** Every call names a tool that exists and fits its schema. */
  fits: boolean;
  /** There is an answer tag. */
  answered: boolean;
  answer: number;
}

export interface StageWeights {
  parsed: number;
  fits: number;
  answered: number;
  answer: number;
}

export const defaultStageWeights: StageWeights = { parsed: 0.1, fits: 0.2, answered: 0.2, answer: 1 };

/**
 * Progressive reward shaping in stages (arXiv 2512.07478 describes stages, later ones counting only once earlier ones
 * hold). The four gates and their weights are ours: the paper's could not be read.
 */
export function stagedGates(stages: Stages, weights: Partial<StageWeights> = {}): number {
  const { parsed, fits, answered, answer } = stagedParts(stages, weights);
  return parsed + fits + answered + answer;
}

/** The same, as what each stage adds. */
export function stagedParts(stages: Stages, weights: Partial<StageWeights> = {}): StageWeights {
  const chosen = { ...defaultStageWeights, ...weights };
  const parsed = stages.parsed ? chosen.parsed : 0;
  const fits = stages.parsed && stages.fits ? chosen.fits : 0;
  const hasAnswer = stages.parsed && stages.fits && stages.answered;
  return {
    parsed,
    fits,
    answered: hasAnswer ? chosen.answered : 0,
    answer: hasAnswer ? chosen.answer * stages.answer : 0,
  };
}

/**
 * BLEU for short answers; ours, as the paper names one without a formula. The n-gram order is min(4, words of the
 * reference), so that a reference of one word asks for unigrams only, and a short hypothesis is not punished twice: there is
 * no brevity penalty, but an order of which it has no n-gram scores 0.
 */
export function lengthAwareBleu(hypothesis: string, reference: string): number {
  const ours = splitWords(normalizeAnswer(hypothesis));
  const theirs = splitWords(normalizeAnswer(reference));
  const orders = Math.min(4, theirs.length);
  if (orders === 0 || ours.length === 0) return 0;
  let logSum = 0;
  for (let order = 1; order <= orders; order++) {
    const wanted = ngrams(theirs, order);
    const made = ngrams(ours, order);
    let matched = 0;
    let count = 0;
    for (const [gram, times] of made) {
      matched += Math.min(times, wanted.get(gram) ?? 0);
      count += times;
    }
    if (matched === 0) return 0;
    logSum += Math.log(matched / count);
  }
  return Math.exp(logSum / orders);
}

function ngrams(words: readonly string[], order: number): Map<string, number> {
  const counts = new Map<string, number>();
  for (let at = 0; at + order <= words.length; at++) {
    const gram = words.slice(at, at + order).join(" ");
    counts.set(gram, (counts.get(gram) ?? 0) + 1);
  }
  return counts;
}

/**
 * The share of the outcome in the three parts of training: 0.3, 0.7 and 1. This schedule is the seed document's, not the
 * paper's; thirds are our reading of its "early, middle, late". `progress` is in [0, 1].
 */
export function alphaAt(progress: number): number {
  if (!(progress >= 0 && progress <= 1)) {
    throw new LudusError("progress-out-of-range", {
      got: `${progress}`,
      expected: "0 <= progress <= 1",
      hint: "Pass step / totalSteps.",
    });
  }
  return progress < 1 / 3 ? 0.3 : progress < 2 / 3 ? 0.7 : 1;
}

/** α · outcome + (1 − α) · mean of the step rewards. */
export function alphaScheduleScore(progress: number, outcome: number, steps: readonly number[]): number {
  const alpha = alphaAt(progress);
  const mean = steps.length === 0 ? 0 : steps.reduce((sum, step) => sum + step, 0) / steps.length;
  return alpha * outcome + (1 - alpha) * mean;
}
