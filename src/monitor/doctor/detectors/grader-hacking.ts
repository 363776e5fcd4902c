import { metric } from "../../../schema/metric-names.ts";
import { mean } from "../../../statistics.ts";
import type { Detector, Evidence, Finding, SeriesPoint } from "../detector.ts";
import { beganAt, learningPoints, percent, short, trendOf } from "../trend.ts";

const code = "grader-hacking";
const limits = {
  /** Fall of the success, absolute and as a share of what it was. */
  successFall: 0.1,
  successFallShare: 0.2,
  /** Rise of the reward as a share of its size. */
  rewardRiseShare: 0.1,
  rewardRise: 0.02,
  /** Steps around an evaluation whose mean reward is compared. */
  window: 5,
};

/** The reward rises while success falls: the policy exploits the grader (reward hacking). */
export const graderHacking: Detector = {
  code,
  detect(view) {
    const rewards = learningPoints(view, metric.reward);
    return (
      heldOut(rewards, view.series(metric.evalSuccess)) ?? inTraining(rewards, learningPoints(view, metric.success))
    );
  },
};

function heldOut(rewards: readonly SeriesPoint[], evaluations: readonly SeriesPoint[]): Finding[] | undefined {
  const last = evaluations.at(-1);
  if (last === undefined || rewards.length < 2 * limits.window) return undefined;
  const best = evaluations.reduce((a, b) => (b.value > a.value ? b : a));
  const before = rewardAround(rewards, best.step);
  const after = rewardAround(rewards, last.step);
  if (!hasFallen(best.value, last.value) || !hasRisen(before, after)) return undefined;
  const message =
    `Since step ${best.step} the training reward rose from ${short(before)} to ${short(after)}, while success on ` +
    `held-out tasks fell from ${percent(best.value)} to ${percent(last.value)}.`;
  const evidence = { rewardBefore: before, rewardAfter: after, successBest: best.value, successLast: last.value };
  return [
    finding(message, { ...evidence, bestStep: best.step, lastStep: last.step }, Math.max(best.step, rewards[0].step)),
  ];
}

function inTraining(rewards: readonly SeriesPoint[], successes: readonly SeriesPoint[]): Finding[] {
  const [reward, success] = [trendOf(rewards), trendOf(successes)];
  if (reward === undefined || success === undefined) return [];
  if (!hasFallen(success.first, success.last) || !hasRisen(reward.first, reward.last)) return [];
  const message =
    `The training reward rose from ${short(reward.first)} to ${short(reward.last)}, while the share of solved tasks fell ` +
    `from ${percent(success.first)} to ${percent(success.last)}.`;
  const evidence = { rewardBefore: reward.first, rewardAfter: reward.last };
  const fallenAt = beganAt(successes, (value) => hasFallen(success.first, value));
  return [finding(message, { ...evidence, successBefore: success.first, successAfter: success.last }, fallenAt)];
}

function finding(message: string, evidence: Evidence, step: number): Finding {
  return {
    code,
    severity: "error",
    message,
    evidence,
    step,
    remedy:
      "Read rollouts with a high reward and no success: what they share is the loophole. Close it in the scorer, combine " +
      "several graders, and keep the best checkpoint by held-out success, not by reward.",
  };
}

function rewardAround(rewards: readonly SeriesPoint[], step: number): number {
  const until = rewards.filter((point) => point.step <= step);
  // an evaluation before the first step of learning is about the policy those first steps sampled from
  const near = until.length === 0 ? rewards.slice(0, limits.window) : until.slice(-limits.window);
  return mean(near.map(({ value }) => value));
}

function hasFallen(before: number, after: number): boolean {
  return before - after >= Math.max(limits.successFall, limits.successFallShare * before);
}

function hasRisen(before: number, after: number): boolean {
  return after - before >= Math.max(limits.rewardRise, limits.rewardRiseShare * Math.abs(before));
}
