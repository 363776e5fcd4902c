import { defined } from "../../../defined.ts";
import { metric } from "../../../schema/metric-names.ts";
import type { Detector } from "../detector.ts";
import { countsOf, recentGroups, someIds, soundTrajectories } from "../sample.ts";
import { beganAt, learningPoints, percent, recentMean } from "../trend.ts";

const code = "tool-hallucination";
const limits = { warning: 0.05, error: 0.25, leastPoints: 3 };

/** The policy calls tools that do not exist. */
export const toolHallucination: Detector = {
  code,
  detect(view) {
    const points = learningPoints(view, metric.toolUnknown);
    const share = recentMean(points);
    if (share === undefined || points.length < limits.leastPoints || share < limits.warning) return [];
    const calling = soundTrajectories(recentGroups(view)).map((trajectory) => ({
      id: trajectory.id,
      names: trajectory.turns.flatMap(({ calls }) =>
        calls.filter(({ outcome }) => outcome === "unknown-tool").map(({ name }) => name),
      ),
    }));
    const guilty = calling.filter(({ names }) => names.length > 0);
    const names = countsOf(guilty.flatMap((each) => each.names)).slice(0, 5);
    const named = names.length === 0 ? "" : ` Most often: ${names.map(([name]) => `"${name}"`).join(", ")}.`;
    return [
      {
        code,
        severity: share >= limits.error ? "error" : "warning",
        step: beganAt(points, (value) => value >= limits.warning),
        message: `${percent(share)} of tool calls name a tool that does not exist.${named}`,
        evidence: {
          unknownShare: share,
          unknownShareAtFirst: points[0].value,
          ...defined({
            names: names.length === 0 ? undefined : names.map(([name, count]) => `${name}: ${count}`),
            trajectories: guilty.length === 0 ? undefined : someIds(guilty),
          }),
        },
        remedy:
          "Check that demonstrations and system message name the available tools. Mix in rows where no tool fits " +
          "(imitate({ mix })), and penalize unknown tools.",
      },
    ];
  },
};
