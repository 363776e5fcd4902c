import { metric } from "../../../schema/metric-names.ts";
import type { Detector } from "../detector.ts";
import { countsOf, recentGroups, rewardsOf } from "../sample.ts";
import { learningPoints, percent, quantile, recentMean, short } from "../trend.ts";

const code = "reward-distribution";
const limits = { same: 0.95, leastRollouts: 16, solved: 0.5 };

/** Nearly all rollouts get the same reward although tasks are unsolved, or a reward is not finite. */
export const rewardDistribution: Detector = {
  code,
  detect(view) {
    const notFinite = view.series(metric.reward).find(({ value }) => !Number.isFinite(value));
    if (notFinite !== undefined) {
      return [
        {
          code,
          severity: "error",
          step: notFinite.step,
          evidence: { step: notFinite.step },
          message: `The mean reward of step ${notFinite.step} is not finite.`,
          remedy: "Return finite numbers from the scorer: look for divisions by 0 and logarithms of 0.",
        },
      ];
    }
    const groups = recentGroups(view);
    const rewards = groups.flatMap(rewardsOf);
    const [most] = countsOf(rewards.map(String));
    const success = recentMean(learningPoints(view, metric.success)) ?? 0;
    if (most === undefined || rewards.length < limits.leastRollouts || success >= limits.solved) return [];
    const share = most[1] / rewards.length;
    if (share < limits.same) return [];
    return [
      {
        code,
        severity: "warning",
        step: groups[0].step,
        message: `${percent(share)} of ${rewards.length} rollouts have the reward ${short(Number(most[0]))}, and ${percent(success)} of tasks are solved.`,
        evidence: {
          sameReward: Number(most[0]),
          share,
          rollouts: rewards.length,
          quantiles: [0, 0.25, 0.5, 0.75, 1].map((at) => quantile(rewards, at)),
        },
        remedy:
          "Score an expert's episode by hand to check the scorer. If it is right, add partial rewards, or start with easier tasks.",
      },
    ];
  },
};
