import { metric } from "../../../schema/metric-names.ts";
import type { Detector } from "../detector.ts";
import { beganAt, learningPoints, percent, recentMean, summedPoints } from "../trend.ts";

const code = "clip-fraction";
const limit = 0.25;

/** So many tokens are clipped that a large part of each batch has no gradient. */
export const clipFraction: Detector = {
  code,
  detect(view) {
    const [below, above] = [metric.clipLow, metric.clipHigh].map((name) => recentMean(learningPoints(view, name)) ?? 0);
    if (below + above < limit) return [];
    const clipped = summedPoints(view, [metric.clipLow, metric.clipHigh]);
    return [
      {
        code,
        severity: "warning",
        step: beganAt(clipped, (value) => value >= limit),
        message: `${percent(below + above)} of sampled tokens are clipped and have no gradient.`,
        evidence: { clippedBelow: below, clippedAbove: above, limit },
        remedy:
          "Lower the learning rate or the number of epochs and mini-batches; cispo keeps a gradient for every token.",
      },
    ];
  },
};
