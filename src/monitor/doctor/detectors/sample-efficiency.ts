import { defined } from "../../../defined.ts";
import { metric } from "../../../schema/metric-names.ts";
import { mean, sum } from "../../../statistics.ts";
import type { Detector } from "../detector.ts";
import { settingsOf } from "../settings.ts";
import { learningPoints, percent, trendOf } from "../trend.ts";

const code = "sample-efficiency";
const limits = { wasted: 0.6, leastSteps: 10 };

/** Over the whole run, most sampled groups had no gradient. */
export const sampleEfficiency: Detector = {
  code,
  detect(view) {
    const { groupSize = 2 } = settingsOf(view);
    const uniform = learningPoints(view, metric.uniform);
    if (groupSize < 2 || uniform.length < limits.leastSteps) return [];
    const wasted = mean(uniform.map(({ value }) => value));
    if (wasted < limits.wasted) return [];
    const tokens = sum(learningPoints(view, metric.sampledTokens).map(({ value }) => value));
    const reward = trendOf(learningPoints(view, metric.reward));
    return [
      {
        code,
        severity: "info",
        step: uniform[0].step,
        message: `${percent(wasted)} of all groups had no gradient, because their rewards were equal.`,
        evidence: {
          uniformGroups: wasted,
          sampledTokens: tokens,
          ...defined({ rewardChange: reward ? reward.change : undefined }),
        },
        remedy:
          "Choose tasks by their success rate (the guide learnability), resample uniform groups (dynamicSampling), " +
          "or stop the run earlier (earlyStop).",
      },
    ];
  },
};
