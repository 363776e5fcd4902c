import { metric } from "../../../schema/metric-names.ts";
import { rateBySize } from "../../../schema/rate-by-size.ts";
import type { Detector } from "../detector.ts";
import { settingsOf } from "../settings.ts";
import { learningPoints, short } from "../trend.ts";

const code = "learning-rate";
const limits = { timesTheRule: 5, leastPoints: 3 };

/** A learning rate far above what suits a model of this size: measured, all of them end lower than they could, most are lost. */
export const learningRate: Detector = {
  code,
  detect(view) {
    const { parameters, hasAdapters } = settingsOf(view);
    const points = learningPoints(view, metric.learningRate);
    // the rule was measured with all weights learning: adapters take higher rates
    if (parameters === undefined || hasAdapters || points.length < limits.leastPoints) return [];
    const rule = rateBySize(parameters);
    const largest = Math.max(...points.map(({ max }) => max));
    const times = largest / rule;
    if (!(times > limits.timesTheRule)) return [];
    return [
      {
        code,
        severity: "warning",
        step: points.find(({ max }) => max > limits.timesTheRule * rule)!.step,
        message: `The learning rate is ${short(largest)}, ${short(times)} times what suits ${parameters} parameters (${short(rule)}).`,
        evidence: { learningRate: largest, rule, times, parameters },
        remedy: 'Leave learningRate at "by-size", or stay within 5 times of it.',
      },
    ];
  },
};
