import { LudusError } from "../errors.ts";

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
 * What each stage of a progressive reward adds: a stage counts only where those before it hold (the idea of arXiv 2512.07478).
 * The four stages and their weights are Ludus's own.
 */
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

/** The weight of the outcome in the three thirds of training: 0.3, 0.7 and 1. `progress` is in [0, 1]. From no paper. */
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
