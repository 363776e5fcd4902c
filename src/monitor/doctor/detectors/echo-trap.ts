import { metric } from "../../../schema/metric-names.ts";
import type { Detector, RunView, SeriesPoint } from "../detector.ts";
import { settingsOf } from "../settings.ts";
import { successOf } from "../success.ts";
import { averagedEnds, learningPoints, movingAverages, percent, quantile, short, slopeOf, trendOf } from "../trend.ts";

const code = "echo-trap";
const limits = {
  /** Weight of the newest value in a moving average. */
  average: 0.2,
  /** Steps that make up the beginning. */
  beginning: 5,
  /** The deviation's average falls below this share of what it was. */
  deviationShare: 0.5,
  entropyShare: 0.7,
  /** A gradient is a spike at this many times the median before. */
  spike: 5,
  rewardFall: 0.3,
  /** The reward is at its best as long as it has lost less than this. */
  rewardSlack: 0.05,
};

/**
 * RAGEN's echo trap, arXiv 2504.20073: attempts at a task become alike (the reward std within groups falls), the policy loses
 * its entropy, then gradients spike and the reward collapses. Only the first stage is reversible.
 */
export const echoTrap: Detector = {
  code,
  detect(view) {
    const { groupSize = 2 } = settingsOf(view);
    const narrowed = narrowedAt(view);
    const success = successOf(view);
    if (groupSize < 2 || narrowed === undefined || success === undefined) return [];
    // groups agree because their tasks are solved: that is no trap
    if (success.isSolved || success.isLearned) return [];
    const entropies = learningPoints(view, metric.entropy);
    const entropy = averagedEnds(entropies);
    const isCertain = entropy !== undefined && entropy.last < limits.entropyShare * entropy.first;
    const reward = rewardOf(learningPoints(view, metric.reward));
    if (!isCertain || reward.isStillRising) return [];
    const spike = firstSpike(learningPoints(view, metric.gradientNorm), narrowed.step);
    const hasLost = reward.lost >= limits.rewardFall;
    const stage = spike === undefined && !hasLost ? "narrowing" : spike !== undefined ? "breaking" : "collapsed";
    return [
      {
        code,
        severity: stage === "narrowing" ? "warning" : "error",
        step: narrowed.step,
        message:
          `Attempts at the same task have become alike: since step ${narrowed.step} the reward std within groups is ` +
          `${percent(narrowed.last / narrowed.first)} of its initial value, and the entropy fell to ${percent(entropy.last / entropy.first)}` +
          (spike === undefined
            ? ""
            : `; the gradient spiked at step ${spike.step}, ${short(spike.times)} times its median`) +
          (hasLost ? `; the reward has fallen ${percent(reward.lost)} below its best.` : "."),
        evidence: {
          stage,
          narrowedAtStep: narrowed.step,
          deviationBefore: narrowed.first,
          deviationAfter: narrowed.last,
          entropyBefore: entropy.first,
          entropyAfter: entropy.last,
          entropySlope: slopeOf(entropies),
          ...(spike === undefined ? {} : { spikeStep: spike.step, spikeTimesMedian: spike.times }),
          rewardBest: reward.best,
          rewardLast: reward.last,
          successAfter: success.last,
        },
        remedy:
          "Start again from a checkpoint of before: ludus train train.ts --from RUN@STEP. Train only on the groups " +
          "with the largest std (starpoS, topDeviation), use a critic, use clip-higher (dapo), lower the learning rate, and add " +
          "more varied tasks.",
      },
    ];
  },
};

/** Where the deviation's moving average last fell below the limit and stayed there. */
function narrowedAt(view: RunView): { step: number; first: number; last: number } | undefined {
  const points = learningPoints(view, metric.rewardStd);
  if (points.length < 2 * limits.beginning) return undefined;
  const averages = movingAverages(points, limits.average);
  const first = Math.max(...averages.slice(0, limits.beginning));
  const last = averages.at(-1)!;
  if (first <= 0) return undefined;
  const lastAbove = averages.findLastIndex((average) => average >= limits.deviationShare * first);
  return lastAbove === points.length - 1 ? undefined : { step: points[lastAbove + 1].step, first, last };
}

/** The first gradient far above the median since the groups began to agree; a moving average is late by its own length. */
function firstSpike(points: readonly SeriesPoint[], narrowed: number): { step: number; times: number } | undefined {
  const median = quantile(
    points.map(({ value }) => value),
    0.5,
  );
  if (points.length < limits.beginning || median <= 0) return undefined;
  const from = narrowed - 1 / limits.average;
  const spike = points.find(({ step, max }) => step >= from && max > limits.spike * median);
  return spike && { step: spike.step, times: spike.max / median };
}

/** How much of its best the reward has lost. Where it is at its best and rising, groups agree because they learn. */
function rewardOf(points: readonly SeriesPoint[]) {
  const averages = movingAverages(points, limits.average);
  const [best, last] = [Math.max(...averages), averages.at(-1) ?? 0];
  const trend = trendOf(points);
  const lost = best > 0 ? (best - last) / best : 0;
  const isStillRising = lost < limits.rewardSlack && trend !== undefined && trend.significance > 3;
  return { best, last, lost, isStillRising };
}
