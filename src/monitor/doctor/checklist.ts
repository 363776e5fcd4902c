import { defined } from "../../defined.ts";
import { metric } from "../../schema/metric-names.ts";
import { mean, sum } from "../../statistics.ts";
import type { Evidence, RunView } from "./detector.ts";
import { maskCoversSampled } from "./invariants/mask-covers-sampled.ts";
import { countsOf, recentGroups, rewardsOf, soundTrajectories } from "./sample.ts";
import { settingsOf } from "./settings.ts";
import { learningPoints, percent, quantile, recentMean, referencePoints, short, trendOf, variance } from "./trend.ts";

/** One thing to look at when a run goes wrong. `look`: it may be the reason. */
export interface ChecklistItem {
  readonly item: string;
  readonly status: "ok" | "look" | "unknown";
  readonly summary: string;
  readonly figures: Evidence;
}

/** What to check, in this order, when learning goes wrong, with figures from the last quarter of the run. */
export function checklist(view: RunView): ChecklistItem[] {
  return [rewards, lengths, mask, divergence, deviation, tools, efficiency].map((look) => look(view));
}

function unknown(item: string): ChecklistItem {
  return { item, status: "unknown", summary: "The run has no data for this.", figures: {} };
}

function rewards(view: RunView): ChecklistItem {
  const item = "reward distribution";
  const values = recentGroups(view).flatMap(rewardsOf);
  const change = trendOf(learningPoints(view, metric.reward));
  if (values.length === 0 || change === undefined) return unknown(item);
  const zero = values.filter((value) => value === 0).length / values.length;
  const quantiles = [0, 0.25, 0.5, 0.75, 1].map((share) => quantile(values, share));
  return {
    item,
    status: zero > 0.9 ? "look" : "ok",
    summary: `mean ${short(change.first)} → ${short(change.last)}, ${percent(zero)} of rewards are 0, quartiles ${quantiles.map(short).join(" ")}`,
    figures: { meanBefore: change.first, meanAfter: change.last, zeroShare: zero, quantiles },
  };
}

function lengths(view: RunView): ChecklistItem {
  const item = "lengths and stop reasons";
  const turns = trendOf(learningPoints(view, metric.turns));
  const tokens = trendOf(learningPoints(view, metric.tokens));
  const trajectories = recentGroups(view).flatMap((group) => group.trajectories);
  if (turns === undefined || tokens === undefined || trajectories.length === 0) return unknown(item);
  const stops = countsOf(trajectories.map(({ stop }) => stop)).map(
    ([stop, count]) => `${stop} ${percent(count / trajectories.length)}`,
  );
  const isCut = trajectories.filter(({ stop }) => stop.startsWith("max-") || stop === "context-full").length;
  return {
    item,
    status: isCut > trajectories.length / 2 ? "look" : "ok",
    summary: `turns ${short(turns.first)} → ${short(turns.last)}, tokens ${short(tokens.first)} → ${short(tokens.last)}; ${stops.join(", ")}`,
    figures: {
      turnsBefore: turns.first,
      turnsAfter: turns.last,
      tokensBefore: tokens.first,
      tokensAfter: tokens.last,
      stops,
    },
  };
}

function mask(view: RunView): ChecklistItem {
  const item = "mask";
  const shares = view.series(metric.unsampledShare).map(({ max }) => max);
  const { checked, findings } = maskCoversSampled.prove(view);
  if (checked === 0 && shares.length === 0) return unknown(item);
  const largest = Math.max(0, ...shares);
  const masks = soundTrajectories(view.groups).map(({ mask_T }) => mask_T);
  const tokens = sum(masks.map(({ length }) => length));
  const sampled = sum(masks.map((mask_T) => mask_T.reduce((a, b) => a + b, 0))) / Math.max(1, tokens);
  return {
    item,
    status: findings.length > 0 || largest > 1e-9 ? "look" : "ok",
    summary: `${checked} trajectories checked, ${percent(sampled)} of their tokens sampled; ${percent(largest)} of derivatives on other tokens`,
    figures: { checked, wrong: findings.length, sampledShare: sampled, unsampledDerivatives: largest },
  };
}

function divergence(view: RunView): ChecklistItem {
  const item = "KL and entropy";
  const entropy = trendOf(learningPoints(view, metric.entropy));
  if (entropy === undefined) return unknown(item);
  const oldNew = recentMean(learningPoints(view, metric.klOldNew));
  const reference = recentMean(referencePoints(view));
  const kl = [
    ...(oldNew === undefined ? [] : [`KL per step ${short(oldNew)}`]),
    ...(reference === undefined ? [] : [`KL from the reference ${short(reference)}`]),
  ];
  const isFar = (oldNew ?? 0) > 0.05 || (reference ?? 0) > 0.5;
  return {
    item,
    status: isFar || entropy.last < 0.2 * entropy.first ? "look" : "ok",
    summary: [`entropy ${short(entropy.first)} → ${short(entropy.last)}`, ...kl].join(", "),
    figures: {
      entropyBefore: entropy.first,
      entropyAfter: entropy.last,
      ...defined({ klOldNew: oldNew, klReference: reference }),
    },
  };
}

function deviation(view: RunView): ChecklistItem {
  const item = "reward std within groups";
  const change = trendOf(learningPoints(view, metric.rewardStd));
  if (change === undefined || (settingsOf(view).groupSize ?? 2) < 2) return unknown(item);
  const fail = recentMean(learningPoints(view, metric.uniformFail)) ?? 0;
  const pass = recentMean(learningPoints(view, metric.uniformPass)) ?? 0;
  return {
    item,
    status: fail + pass > 0.75 ? "look" : "ok",
    summary: `${short(change.first)} → ${short(change.last)}; ${percent(fail)} of groups all fail, ${percent(pass)} all pass`,
    figures: { before: change.first, after: change.last, allFail: fail, allPass: pass },
  };
}

function tools(view: RunView): ChecklistItem {
  const item = "tools";
  const calls = soundTrajectories(recentGroups(view)).flatMap(({ turns }) => turns.flatMap((turn) => turn.calls));
  if (calls.length === 0) return unknown(item);
  const names = countsOf(calls.map(({ name }) => name || "(unreadable)"));
  const failed = calls.filter(({ outcome }) => outcome !== "ok").length / calls.length;
  const isOneSided = names.length > 1 && names[0][1] > 0.95 * calls.length;
  const histogram = names.slice(0, 8).map(([name, count]) => `${name} ${percent(count / calls.length)}`);
  return {
    item,
    status: failed > 0.25 || isOneSided ? "look" : "ok",
    summary: `${histogram.join(", ")}; ${percent(failed)} of calls failed`,
    figures: { calls: calls.length, histogram, failedShare: failed },
  };
}

function efficiency(view: RunView): ChecklistItem {
  const item = "sample efficiency";
  const groups = recentGroups(view).map(rewardsOf);
  const reward = trendOf(learningPoints(view, metric.reward));
  const tokens = sum(learningPoints(view, metric.sampledTokens).map(({ value }) => value));
  const total = variance(groups.flat());
  if (reward === undefined || groups.length === 0 || tokens === 0) return unknown(item);
  // near 1: rewards depend on sampling noise, not on the task
  const within = total === 0 ? 0 : mean(groups.map(variance)) / total;
  const gain = (reward.change / tokens) * 1e6;
  return {
    item,
    status: reward.change <= 0 ? "look" : "ok",
    summary: `reward ${reward.change < 0 ? "" : "+"}${short(reward.change)} for ${tokens} sampled tokens; ${percent(within)} of its variance is within groups`,
    figures: {
      rewardChange: reward.change,
      sampledTokens: tokens,
      gainPerMillionTokens: gain,
      varianceWithinGroups: within,
    },
  };
}
