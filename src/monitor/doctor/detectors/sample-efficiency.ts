import { defined } from "../../../defined.ts";
import { metric } from "../../../schema/metric-names.ts";
import { mean, sum } from "../../../statistics.ts";
import type { Detector } from "../detector.ts";
import { settingsOf } from "../settings.ts";
import { learningPoints, percent, trendOf } from "../trend.ts";

const code = "sample-efficiency";
const limits = { wasted: 0.6, leastSteps: 10 };

/** Over the whole run, most of what was sampled taught nothing. */
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
        step: uniform.at(-1)!.step,
        message: `${percent(wasted)} of all groups of the run taught nothing, because their rewards were all equal.`,
        evidence: {
          uniformGroups: wasted,
          sampledTokens: tokens,
          ...defined({ rewardChange: reward ? reward.change : undefined }),
        },
        remedy:
          "Sample tasks by how often they are solved (a curriculum), ask for more only where groups differ (dynamicSampling), " +
          "or stop the run earlier (earlyStop).",
      },
    ];
  },
};
