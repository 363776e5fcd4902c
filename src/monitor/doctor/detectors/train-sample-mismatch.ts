import { metric } from "../../../schema/metric-names.ts";
import type { Detector } from "../detector.ts";
import { beganAt, learningPoints, recentMean, short } from "../trend.ts";

const code = "train-sample-mismatch";
const limits = { warning: 0.01, error: 0.05 };

/** Sampler and trainer compute different log-probabilities for the same tokens and weights. */
export const trainSampleMismatch: Detector = {
  code,
  detect(view) {
    const points = learningPoints(view, metric.mismatchMean);
    const mean = recentMean(points);
    if (mean === undefined || mean < limits.warning) return [];
    const largest = Math.max(mean, ...learningPoints(view, metric.mismatchMax).map(({ max }) => max));
    return [
      {
        code,
        severity: mean >= limits.error ? "error" : "warning",
        step: beganAt(points, (value) => value >= limits.warning),
        message: `Log-probabilities of the sampler differ by ${short(mean)} from those of the trainer with the same weights.`,
        evidence: { meanDifference: mean, largestDifference: largest, steps: points.length },
        remedy:
          "Sample and train at the same temperature, with the same weights and precision. Where the engines must differ, " +
          "correct for it (corrections: [truncatedRatio()]).",
      },
    ];
  },
};
