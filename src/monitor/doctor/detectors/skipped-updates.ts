import { metric } from "../../../schema/metric-names.ts";
import type { Detector } from "../detector.ts";
import { percent } from "../trend.ts";

const code = "skipped-updates";

/** Updates that were skipped because their gradient was not finite. Steps without training data have no gradient and do not count. */
export const skippedUpdates: Detector = {
  code,
  detect(view) {
    const gradients = new Set(view.series(metric.gradientNorm).map(({ step }) => step));
    const points = view.series(metric.skippedSteps).filter(({ step }) => gradients.has(step));
    const skipped = points.filter(({ max }) => max > 0);
    const [first] = skipped;
    if (first === undefined) return [];
    return [
      {
        code,
        severity: "error",
        step: first.step,
        message: `The updates of ${skipped.length} steps (${percent(skipped.length / points.length)}) were skipped: their gradients were not finite.`,
        evidence: { steps: skipped.slice(0, 5).map(({ step }) => step), ofSteps: points.length },
        remedy:
          "Start again from a checkpoint of before: ludus train train.ts --from RUN@STEP. Lower the learning " +
          "rate and maxGradientNorm.",
      },
    ];
  },
};
