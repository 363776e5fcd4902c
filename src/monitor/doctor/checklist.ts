import { defined } from "../../defined.ts";
import { metric } from "../../schema/metric-names.ts";
import { infrastructureStops } from "../../schema/stop-reason.ts";
import { mean, sum } from "../../statistics.ts";
import type { Evidence, Finding, RunView } from "./detector.ts";
import { detect } from "./diagnose.ts";
import { maskCoversSampled } from "./invariants/mask-covers-sampled.ts";
import { countsOf, recentGroups, rewardsOf, soundTrajectories } from "./sample.ts";
import { settingsOf } from "./settings.ts";
import {
  learningPoints,
  percent,
  quantile,
  recentMean,
  referencePoints,
  short,
  summedPoints,
  trendOf,
  variance,
} from "./trend.ts";

/** One thing to look at when a run goes wrong. `look`: it may be the reason. */
export interface ChecklistItem {
  readonly item: string;
  readonly status: "ok" | "look" | "unknown";
  readonly summary: string;
  readonly figures: Evidence;
}

/**
 * What to check, in this order, when learning goes wrong, with figures from the last quarter of the run. An item is to be looked
 * at exactly where a finding is about it, so that the two never disagree.
 */
export function checklist(view: RunView, findings: readonly Finding[] = detect(view)): ChecklistItem[] {
  const found = new Set(findings.filter(({ severity }) => severity !== "info").map(({ code }) => code));
  return entries.map(({ item, codes, measure }) => {
    const measured = measure(view);
    const isFound = codes.some((code) => found.has(code));
    if (measured === undefined && !isFound)
      return { item, status: "unknown", summary: "The run has no data for this.", figures: {} };
    const { summary, figures } = measured ?? { summary: "See the findings.", figures: {} };
    return { item, status: isFound ? "look" : "ok", summary, figures };
  });
}

type Measured = Pick<ChecklistItem, "summary" | "figures"> | undefined;

interface Entry {
  readonly item: string;
  /** Findings that are about it. */
  readonly codes: readonly string[];
  readonly measure: (view: RunView) => Measured;
}

const entries: readonly Entry[] = [
  { item: "failures", codes: ["everything-crashed", "infrastructure-failures"], measure: failures },
  { item: "reward distribution", codes: ["reward-distribution", "grader-hacking"], measure: rewards },
  { item: "lengths and stop reasons", codes: ["length-explosion", "loops"], measure: lengths },
  { item: "mask", codes: ["observation-unmasked", "mask-invariant"], measure: mask },
  {
    item: "KL and entropy",
    codes: ["kl-explosion", "learning-rate", "entropy-collapse", "clip-fraction", "train-sample-mismatch"],
    measure: divergence,
  },
  {
    item: "reward std within groups",
    codes: ["zero-variance", "echo-trap", "statistics-invariant"],
    measure: deviation,
  },
  { item: "tools", codes: ["tool-hallucination"], measure: tools },
  {
    item: "sample efficiency",
    codes: ["learning-stalled", "warm-start", "skipped-updates", "value-function"],
    measure: efficiency,
  },
];

function failures(view: RunView): Measured {
  const stops = infrastructureStops.filter((stop) => stop !== "cancelled");
  const share = recentMean(summedPoints(view, stops.map(metric.stop)));
  if (share === undefined) return undefined;
  return { summary: `${percent(share)} of rollouts failed through no fault of the policy`, figures: { share } };
}

function rewards(view: RunView): Measured {
  const values = recentGroups(view).flatMap(rewardsOf);
  const change = trendOf(learningPoints(view, metric.reward));
  if (values.length === 0 || change === undefined) return undefined;
  const zero = values.filter((value) => value === 0).length / values.length;
  const quantiles = [0, 0.25, 0.5, 0.75, 1].map((share) => quantile(values, share));
  return {
    summary: `mean ${short(change.first)} → ${short(change.last)}, ${percent(zero)} of rewards are 0, quartiles ${quantiles.map(short).join(" ")}`,
    figures: { meanBefore: change.first, meanAfter: change.last, zeroShare: zero, quantiles },
  };
}

function lengths(view: RunView): Measured {
  const turns = trendOf(learningPoints(view, metric.turns));
  const tokens = trendOf(learningPoints(view, metric.tokens));
  const trajectories = recentGroups(view).flatMap((group) => group.trajectories);
  if (turns === undefined || tokens === undefined || trajectories.length === 0) return undefined;
  const stops = countsOf(trajectories.map(({ stop }) => stop)).map(
    ([stop, count]) => `${stop} ${percent(count / trajectories.length)}`,
  );
  return {
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

function mask(view: RunView): Measured {
  const shares = view.series(metric.unsampledShare).map(({ max }) => max);
  const { checked, findings } = maskCoversSampled.prove(view);
  if (checked === 0 && shares.length === 0) return undefined;
  const largest = Math.max(0, ...shares);
  const masks = soundTrajectories(view.groups).map(({ mask_T }) => mask_T);
  const tokens = sum(masks.map(({ length }) => length));
  const sampled = sum(masks.map((mask_T) => mask_T.reduce((a, b) => a + b, 0))) / Math.max(1, tokens);
  return {
    summary: `${checked} trajectories checked, ${percent(sampled)} of their tokens sampled; ${percent(largest)} of derivatives on other tokens`,
    figures: { checked, wrong: findings.length, sampledShare: sampled, unsampledDerivatives: largest },
  };
}

function divergence(view: RunView): Measured {
  const entropy = trendOf(learningPoints(view, metric.entropy));
  if (entropy === undefined) return undefined;
  const oldNew = recentMean(learningPoints(view, metric.klOldNew));
  const reference = recentMean(referencePoints(view));
  const kl = [
    ...(oldNew === undefined ? [] : [`KL per step ${short(oldNew)}`]),
    ...(reference === undefined ? [] : [`KL from the reference ${short(reference)}`]),
  ];
  return {
    summary: [`entropy ${short(entropy.first)} → ${short(entropy.last)}`, ...kl].join(", "),
    figures: {
      entropyBefore: entropy.first,
      entropyAfter: entropy.last,
      ...defined({ klOldNew: oldNew, klReference: reference }),
    },
  };
}

function deviation(view: RunView): Measured {
  const change = trendOf(learningPoints(view, metric.rewardStd));
  if (change === undefined || (settingsOf(view).groupSize ?? 2) < 2) return undefined;
  const fail = recentMean(learningPoints(view, metric.uniformFail)) ?? 0;
  const pass = recentMean(learningPoints(view, metric.uniformPass)) ?? 0;
  return {
    summary: `${short(change.first)} → ${short(change.last)}; ${percent(fail)} of groups all fail, ${percent(pass)} all pass`,
    figures: { before: change.first, after: change.last, allFail: fail, allPass: pass },
  };
}

function tools(view: RunView): Measured {
  const calls = soundTrajectories(recentGroups(view)).flatMap(({ turns }) => turns.flatMap((turn) => turn.calls));
  if (calls.length === 0) return undefined;
  const names = countsOf(calls.map(({ name }) => name || "(unreadable)"));
  const failed = calls.filter(({ outcome }) => outcome !== "ok").length / calls.length;
  const histogram = names.slice(0, 8).map(([name, count]) => `${name} ${percent(count / calls.length)}`);
  return {
    summary: `${histogram.join(", ")}; ${percent(failed)} of calls failed`,
    figures: { calls: calls.length, histogram, failedShare: failed },
  };
}

function efficiency(view: RunView): Measured {
  const groups = recentGroups(view).map(rewardsOf);
  const reward = trendOf(learningPoints(view, metric.reward));
  const tokens = sum(learningPoints(view, metric.sampledTokens).map(({ value }) => value));
  const total = variance(groups.flat());
  if (reward === undefined || groups.length === 0 || tokens === 0) return undefined;
  // near 1: rewards depend on sampling noise, not on the task
  const within = total === 0 ? 0 : mean(groups.map(variance)) / total;
  const gain = (reward.change / tokens) * 1e6;
  return {
    summary: `reward ${reward.change < 0 ? "" : "+"}${short(reward.change)} for ${tokens} sampled tokens; ${percent(within)} of its variance is within groups`,
    figures: {
      rewardChange: reward.change,
      sampledTokens: tokens,
      gainPerMillionTokens: gain,
      varianceWithinGroups: within,
    },
  };
}
