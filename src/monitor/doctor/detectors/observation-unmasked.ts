import { metric } from "../../../schema/metric-names.ts";
import type { Detector } from "../detector.ts";
import { percent } from "../trend.ts";

const code = "observation-unmasked";
const tolerance = 1e-9;

/** The gradient reaches tokens nobody sampled: the policy is taught to speak like its environment. */
export const observationUnmasked: Detector = {
  code,
  detect(view) {
    const points = view.series(metric.unsampledShare);
    const wrong = points.filter(({ max }) => max > tolerance);
    const last = wrong.at(-1);
    if (last === undefined) return [];
    const largest = Math.max(...wrong.map(({ max }) => max));
    return [
      {
        code,
        severity: "error",
        step: last.step,
        message: `${percent(largest)} of the loss's derivatives fall on tokens that nobody sampled: prompts and observations are trained on.`,
        evidence: { largestShare: largest, steps: wrong.length, ofSteps: points.length, firstStep: wrong[0].step },
        remedy:
          "Let the loss skip every token whose mask is 0. A custom loss must multiply by mask_T, and must not fill " +
          "advantages_T outside of it.",
      },
    ];
  },
};
