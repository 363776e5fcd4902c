import { metric } from "../../schema/metric-names.ts";
import type { RunView } from "./detector.ts";
import { learningPoints, movingAverages, type Trend, trendOf } from "./trend.ts";

export interface Success extends Trend {
  /** Of the last evaluation, where there was one. */
  readonly heldOut: number | undefined;
  /** Most tasks are solved, in training or in the last evaluation. */
  readonly isSolved: boolean;
  /** It has risen, and is about as high as it ever was. */
  readonly isLearned: boolean;
}

const limits = { solved: 0.9, rise: 0.1, standardErrors: 3, lost: 0.1, average: 0.2 };

/** How the share of solved tasks went: certainty and groups that agree are what learning is for, as long as this is well. */
export function successOf(view: RunView): Success | undefined {
  const points = learningPoints(view, metric.success);
  const trend = trendOf(points);
  if (trend === undefined) return undefined;
  const evaluations = view.series(metric.evalSuccess);
  const heldOut = evaluations.at(-1)?.value;
  const averages = movingAverages(points, limits.average);
  const lost = Math.max(...averages) - averages.at(-1)!;
  // of evaluations, too: a policy can forget what it is not trained on
  const hasLostHeldOut =
    heldOut !== undefined && Math.max(...evaluations.map(({ value }) => value)) - heldOut > limits.lost;
  const isRisen = trend.change >= limits.rise && trend.significance > limits.standardErrors;
  return {
    ...trend,
    heldOut,
    isSolved: trend.last >= limits.solved || (heldOut ?? 0) >= limits.solved,
    isLearned: isRisen && lost <= limits.lost && !hasLostHeldOut,
  };
}
