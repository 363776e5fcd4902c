import { defined } from "../../../defined.ts";
import { metric } from "../../../schema/metric-names.ts";
import type { Trajectory } from "../../../schema/trajectory.ts";
import type { Detector } from "../detector.ts";
import { recentGroups, someIds, soundTrajectories } from "../sample.ts";
import { beganAt, learningPoints, percent, trendOf } from "../trend.ts";

const code = "loops";
const limits = { stuck: 0.3, repeats: 0.6, repeatsRise: 0.2, success: 0.5, leastPairs: 20 };

/** The policy repeats turns that had no effect. */
export const loops: Detector = {
  code,
  detect(view) {
    const points = learningPoints(view, metric.repeats);
    const repeats = trendOf(points);
    const success = trendOf(learningPoints(view, metric.success));
    if (repeats === undefined) return [];
    const trajectories = soundTrajectories(recentGroups(view));
    const pairs = trajectories.reduce((total, { turns }) => total + Math.max(0, turns.length - 1), 0);
    const stuckOf = trajectories.map((trajectory) => ({ id: trajectory.id, stuck: stuckTurns(trajectory) }));
    const stuck = stuckOf.reduce((total, each) => total + each.stuck, 0) / Math.max(1, pairs);
    const isStuck = pairs >= limits.leastPairs && stuck >= limits.stuck;
    // repetition can be right (walking along a corridor): where observations are unknown, the limit is stricter
    const isRepeating =
      repeats.last >= limits.repeats && repeats.change >= limits.repeatsRise && (success?.last ?? 0) < limits.success;
    if (!isStuck && !isRepeating) return [];
    const worst = stuckOf.filter((each) => each.stuck > 0).sort((a, b) => b.stuck - a.stuck);
    return [
      {
        code,
        severity: "warning",
        // where they repeat, and not what they are told, decides: halfway to how often they do now
        step: beganAt(points, (value) => value >= Math.min(limits.repeats, (repeats.first + repeats.last) / 2)),
        message: isStuck
          ? `${percent(stuck)} of turns repeat both the text and the observation of the turn before.`
          : `${percent(repeats.last)} of turns repeat the text of the turn before (${percent(repeats.first)} at first), and few tasks are solved.`,
        evidence: {
          repeatShareBefore: repeats.first,
          repeatShareAfter: repeats.last,
          ...(pairs === 0 ? {} : { stuckShare: stuck, turnsLookedAt: pairs }),
          ...defined({ trajectories: worst.length === 0 ? undefined : someIds(worst) }),
        },
        remedy:
          "Let the environment report that nothing changed, or end the episode. Explore more: epsilonTool, a higher temperature, " +
          "an entropy bonus; or penalize repeated calls.",
      },
    ];
  },
};

/** Turns with the words and the answer of the turn before. */
function stuckTurns({ turns }: Trajectory): number {
  return turns.slice(1).filter(({ text, observation }, i) => {
    const before = turns[i];
    // the last turn of an episode is told nothing
    const isLast = i + 2 === turns.length && observation === "";
    return before.text === text && (isLast || before.observation === observation);
  }).length;
}
