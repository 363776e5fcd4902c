import { defined } from "../../../defined.ts";
import { metric } from "../../../schema/metric-names.ts";
import type { Detector, SeriesPoint } from "../detector.ts";
import { learningPoints, short, trendOf } from "../trend.ts";

const code = "learning-stalled";
const limits = { leastSteps: 20, standardErrors: 3, rise: 0.02, solved: 0.9 };

/** The reward has not risen significantly since the start, although tasks remain unsolved. */
export const learningStalled: Detector = {
  code,
  detect(view) {
    const rewards = learningPoints(view, metric.reward);
    const reward = trendOf(rewards);
    const success = trendOf(learningPoints(view, metric.success));
    if (reward === undefined || success === undefined || reward.points < limits.leastSteps) return [];
    if ([metric.reward, metric.success].some((name) => hasRisen(learningPoints(view, name)))) return [];
    if (success.last >= limits.solved) return [];
    const norm = trendOf(learningPoints(view, metric.gradientNorm));
    const rate = learningPoints(view, metric.learningRate).at(-1)?.value;
    return [
      {
        code,
        severity: "warning",
        step: rewards[0].step,
        message: `After ${reward.points} steps the reward is ${short(reward.last)}; it started at ${short(reward.first)}.`,
        evidence: {
          rewardBefore: reward.first,
          rewardAfter: reward.last,
          standardErrors: Number(short(reward.significance)),
          successBefore: success.first,
          successAfter: success.last,
          ...defined({ gradientNorm: norm === undefined ? undefined : norm.last, learningRate: rate }),
        },
        remedy:
          "Fix the other findings first: most of them stall learning. Otherwise find out what the model can hold: imitate without noise " +
          "for some thousand steps, with no steps of learning. Where that fails too, the model is too small, the demonstrations too few or " +
          "the format too hard; where it does not, warm-start for longer, or raise the attempts or tasks per step.",
      },
    ];
  },
};

/** At the end, or after half or three quarters of the run: a reward that rose and fell is for other detectors. */
function hasRisen(points: readonly SeriesPoint[]): boolean {
  return [0.5, 0.75, 1].some((share) => {
    const trend = trendOf(points.slice(0, Math.ceil(share * points.length)));
    return trend !== undefined && trend.significance > limits.standardErrors && trend.change > limits.rise;
  });
}
