import { metric } from "../../../schema/metric-names.ts";
import type { Detector, Finding } from "../detector.ts";
import { settingsOf } from "../settings.ts";
import { beganAt, learningPoints, percent, recentMean } from "../trend.ts";

const code = "zero-variance";
const limits = { uniform: 0.75, leastPoints: 3 };

/** Groups whose attempts all got the same reward: group-relative advantages are 0. */
export const zeroVariance: Detector = {
  code,
  detect(view) {
    const { groupSize = 2 } = settingsOf(view);
    const points = learningPoints(view, metric.uniform);
    const uniform = recentMean(points);
    if (groupSize < 2 || uniform === undefined || points.length < limits.leastPoints) return [];
    if (uniform < limits.uniform) return [];
    const fail = recentMean(learningPoints(view, metric.uniformFail)) ?? 0;
    const pass = recentMean(learningPoints(view, metric.uniformPass)) ?? 0;
    const evidence = { uniformGroups: uniform, allFail: fail, allPass: pass, steps: points.length };
    const step = beganAt(points, (value) => value >= limits.uniform);
    return [{ code, evidence, step, ...verdict(uniform, fail, pass) }];
  },
};

function verdict(uniform: number, fail: number, pass: number): Pick<Finding, "severity" | "message" | "remedy"> {
  const share = percent(uniform);
  if (pass >= limits.uniform) {
    return {
      severity: "info",
      message: `${share} of groups have equal rewards, mostly because every attempt passes: these tasks are solved.`,
      remedy: "Stop, or continue with harder tasks.",
    };
  }
  if (fail >= limits.uniform) {
    return {
      severity: "error",
      message: `${share} of groups have equal rewards, mostly because every attempt fails: advantages are 0.`,
      remedy:
        "Check the scorer on an expert's episode (ludus play). If it is right, start with easier tasks, better demonstrations, " +
        "partial rewards or hints.",
    };
  }
  return {
    severity: "warning",
    message: `${share} of groups have equal rewards (${percent(fail)} all fail, ${percent(pass)} all pass).`,
    remedy:
      "Choose tasks that are solved sometimes (the guide learnability, topDeviation, dynamicSampling), or raise the group size.",
  };
}
