import { metric } from "../../../schema/metric-names.ts";
import type { Detector } from "../detector.ts";
import { learningPoints, percent, recentMean } from "../trend.ts";

const code = "clip-fraction";
const limit = 0.25;

/** So many tokens are clipped that a large part of each batch has no gradient. */
export const clipFraction: Detector = {
  code,
  detect(view) {
    const low = learningPoints(view, metric.clipLow);
    const high = learningPoints(view, metric.clipHigh);
    const [below, above] = [recentMean(low) ?? 0, recentMean(high) ?? 0];
    if (below + above < limit) return [];
    return [
      {
        code,
        severity: "warning",
        step: (low.at(-1) ?? high.at(-1))!.step,
        message: `${percent(below + above)} of sampled tokens are clipped and have no gradient.`,
        evidence: { clippedBelow: below, clippedAbove: above, limit },
        remedy:
          "Lower the learning rate or the number of epochs and mini-batches; cispo keeps a gradient for every token.",
      },
    ];
  },
};
