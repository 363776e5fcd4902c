import { metric } from "../../../schema/metric-names.ts";
import { sum } from "../../../statistics.ts";
import type { Detector, Finding, RunView, SeriesPoint } from "../detector.ts";
import { recentGroups, rewardsOf } from "../sample.ts";
import { beganAt, learningPoints, recentMean, short, trendOf, variance } from "../trend.ts";

const code = "value-function";
const limits = { growth: 2, explained: -0.5, solved: 0.9 };

/** The critic gets worse, or explains none of the variance of rewards. */
export const valueFunction: Detector = {
  code,
  detect(view) {
    const points = learningPoints(view, metric.valueError);
    const error = trendOf(points);
    if (error === undefined) return [];
    const findings: Finding[] = [];
    const common = { code, severity: "warning" } as const;
    if (error.last > limits.growth * error.first && error.significance > 3) {
      findings.push({
        ...common,
        step: beganAt(points, (value) => value > limits.growth * error.first),
        message: `The critic's squared error grew from ${short(error.first)} to ${short(error.last)}.`,
        evidence: { errorBefore: error.first, errorAfter: error.last, standardErrors: error.significance },
        remedy:
          "Lower the critic's learning rate or the value coefficient; a separate critic (vapo) does not affect the policy.",
      });
    }
    const explained = explainedVariance(view, points);
    const success = recentMean(learningPoints(view, metric.success)) ?? 0;
    // where all rewards are equal there is no variance to explain
    if (explained !== undefined && explained < limits.explained && success < limits.solved) {
      findings.push({
        ...common,
        step: recentGroups(view)[0].step,
        message: "The critic predicts rewards worse than their mean would: advantages are noisier than without it.",
        evidence: { explainedVariance: explained, squaredError: recentMean(points) ?? 0 },
        remedy: "Train the critic before the policy (critic: { pretrainSteps }), raise its learning rate, or use grpo.",
      });
    }
    return findings;
  },
};

/** 1 - squared error / variance of rewards, over the sampled steps of the last quarter. Exact where nothing is discounted. */
function explainedVariance(view: RunView, points: readonly SeriesPoint[]): number | undefined {
  const errors = new Map(points.map(({ step, value }) => [step, value]));
  const steps = [...Map.groupBy(recentGroups(view), ({ step }) => step)].filter(([step]) => errors.has(step));
  const spread = sum(steps.map(([, groups]) => variance(groups.flatMap(rewardsOf))));
  return spread === 0 ? undefined : 1 - sum(steps.map(([step]) => errors.get(step)!)) / spread;
}
