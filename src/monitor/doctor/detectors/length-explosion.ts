import { defined } from "../../../defined.ts";
import { metric } from "../../../schema/metric-names.ts";
import { learnable } from "../../../schema/trajectory-group.ts";
import { mean } from "../../../statistics.ts";
import type { Detector } from "../detector.ts";
import { recentGroups, rewardsOf } from "../sample.ts";
import { beganAt, learningPoints, percent, recentMean, short, summedPoints, trendOf } from "../trend.ts";

const code = "length-explosion";
const limits = { turnShare: 0.8, turnShareRise: 0.15, cutOff: 0.5, cutOffRise: 0.25 };
const cutOffs = ["max-turns", "max-tokens", "context-full"].map(metric.stop);

/** Episodes grow until a limit truncates them: something rewards length. */
export const lengthExplosion: Detector = {
  code,
  detect(view) {
    const [shares, cuts] = [learningPoints(view, metric.turnShare), summedPoints(view, cutOffs)];
    const [turns, cut] = [trendOf(shares), trendOf(cuts)];
    const tokens = trendOf(learningPoints(view, metric.tokens));
    if (turns === undefined || cut === undefined) return [];
    const isDragging = turns.last >= limits.turnShare && turns.change >= limits.turnShareRise;
    const isCutOff = cut.last >= limits.cutOff && cut.change >= limits.cutOffRise;
    if (!isDragging && !isCutOff) return [];
    const success = trendOf(learningPoints(view, metric.success));
    const isUseful = success !== undefined && success.change > 0.05;
    const correlation = lengthCorrelation(recentGroups(view));
    return [
      {
        code,
        severity: isUseful ? "warning" : "error",
        step: isDragging
          ? beganAt(shares, (value) => value >= limits.turnShare)
          : beganAt(cuts, (value) => value >= limits.cutOff),
        message:
          `Episodes went from ${percent(turns.first)} to ${percent(turns.last)} of their turn limit; ${percent(cut.last)} are now ` +
          `truncated (${percent(cut.first)} at first).`,
        evidence: {
          turnShareBefore: turns.first,
          turnShareAfter: turns.last,
          cutOffBefore: cut.first,
          cutOffAfter: cut.last,
          ...(tokens === undefined ? {} : { tokensBefore: tokens.first, tokensAfter: tokens.last }),
          successAfter: recentMean(learningPoints(view, metric.success)) ?? 0,
          ...defined({ rewardLengthCorrelation: correlation === undefined ? undefined : Number(short(correlation)) }),
        },
        remedy:
          "Look for rewards per turn. Add a length or turn penalty (softOverlong, a cost per turn), reward the " +
          "outcome alone, and keep limits.turns and limits.tokens close to what a good episode needs.",
      },
    ];
  },
};

/** Of reward and turns within groups; undefined where neither varies. */
function lengthCorrelation(groups: ReturnType<typeof recentGroups>): number | undefined {
  const pairs = groups.flatMap((group) => {
    const rewards = rewardsOf(group);
    const lengths = [...Map.groupBy(learnable(group), ({ rollout, role }) => `${rollout} ${role}`).values()].map((of) =>
      of.reduce((total, { turns }) => total + turns.length, 0),
    );
    const [reward, length] = [mean(rewards), mean(lengths)];
    return rewards.map((value, i) => [value - reward, lengths[i] - length] as const);
  });
  const product = (a: 0 | 1, b: 0 | 1) => pairs.reduce((total, pair) => total + pair[a] * pair[b], 0);
  const scale = Math.sqrt(product(0, 0) * product(1, 1));
  return scale === 0 ? undefined : product(0, 1) / scale;
}
