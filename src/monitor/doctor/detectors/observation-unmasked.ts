import { metric } from "../../../schema/metric-names.ts";
import type { Detector } from "../detector.ts";
import { percent } from "../trend.ts";

const code = "observation-unmasked";
const tolerance = 1e-9;

/** The gradient reaches tokens that were not sampled: the policy is trained on prompts and observations. */
export const observationUnmasked: Detector = {
  code,
  detect(view) {
    const points = view.series(metric.unsampledShare);
    const wrong = points.filter(({ max }) => max > tolerance);
    const [first] = wrong;
    if (first === undefined) return [];
    const largest = Math.max(...wrong.map(({ max }) => max));
    return [
      {
        code,
        severity: "error",
        step: first.step,
        message: `${percent(largest)} of the loss's derivatives are on tokens that were not sampled: the policy is trained on prompts and observations.`,
        evidence: { largestShare: largest, steps: wrong.length, ofSteps: points.length, lastStep: wrong.at(-1)!.step },
        remedy:
          "Skip every token whose mask is 0 in the loss. A custom loss must multiply by mask_T, and must not fill " +
          "advantages_T outside of it.",
      },
    ];
  },
};
