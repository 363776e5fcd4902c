import { metric } from "../../../schema/metric-names.ts";
import type { Detector } from "../detector.ts";
import { percent } from "../trend.ts";

const code = "skipped-updates";

/** Gradients that were not finite: the update was dropped. Steps without anything to learn from have no gradient at all. */
export const skippedUpdates: Detector = {
  code,
  detect(view) {
    const gradients = new Set(view.series(metric.gradientNorm).map(({ step }) => step));
    const points = view.series(metric.skippedSteps).filter(({ step }) => gradients.has(step));
    const skipped = points.filter(({ max }) => max > 0);
    const last = skipped.at(-1);
    if (last === undefined) return [];
    return [
      {
        code,
        severity: "error",
        step: last.step,
        message: `Updates of ${skipped.length} steps (${percent(skipped.length / points.length)}) were dropped: their gradients were not finite.`,
        evidence: { steps: skipped.slice(0, 5).map(({ step }) => step), ofSteps: points.length },
        remedy: "Lower the learning rate and maxGradientNorm; go back to a checkpoint from before the first such step.",
      },
    ];
  },
};
