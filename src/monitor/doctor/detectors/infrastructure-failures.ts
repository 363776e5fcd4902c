import { defined } from "../../../defined.ts";
import { type Failure, failureKey, failuresText } from "../../../schema/failure.ts";
import { metric } from "../../../schema/metric-names.ts";
import { infrastructureStops, isInfrastructureStop } from "../../../schema/stop-reason.ts";
import type { Detector, RunView } from "../detector.ts";
import { recentGroups, someIds } from "../sample.ts";
import { beganAt, learningPoints, percent, recentMean, summedPoints } from "../trend.ts";

const code = "infrastructure-failures";
const limits = { warning: 0.02, error: 0.2 };
const maxFailureChars = 200;

/** Rollouts that failed through no fault of the policy: lost work, and tasks that are sampled less often than intended. */
export const infrastructureFailures: Detector = {
  code,
  detect(view) {
    // cancelled: the run was stopped
    const counted = infrastructureStops.filter((stop) => stop !== "cancelled");
    const points = summedPoints(view, counted.map(metric.stop));
    const share = recentMean(points);
    if (share === undefined || share < limits.warning) return [];
    const byReason = counted.flatMap((stop) => {
      const mean = recentMean(learningPoints(view, metric.stop(stop)));
      return mean === undefined ? [] : [`${stop}: ${percent(mean)}`];
    });
    const failed = recentGroups(view).flatMap(({ trajectories }) =>
      trajectories.filter(({ stop }) => isInfrastructureStop(stop)),
    );
    const failure = failed.find((trajectory) => trajectory.failure !== undefined)?.failure;
    const said = failuresText(trainingFailures(view));
    return [
      {
        code,
        severity: share >= limits.error ? "error" : "warning",
        step: beganAt(points, (value) => value >= limits.warning),
        message: `${percent(share)} of rollouts are infrastructure failures, after retries${said === "" ? "" : `: ${said}`}.`,
        evidence: {
          share,
          byReason,
          ...defined({
            trajectories: failed.length === 0 ? undefined : someIds(failed),
            example: failure === undefined ? undefined : failure.slice(0, maxFailureChars),
          }),
        },
        remedy:
          "Fix the tool, environment or engine that the example names. Errors that the policy should see belong in a " +
          "ToolError; limits.toolMs and limits.envMs may be too short.",
      },
    ];
  },
};

/** What training attempts said, over all steps: the most frequent first. */
function trainingFailures({ events }: RunView): Failure[] {
  const told = events.flatMap((event) => (event.type === "failure" && event.during === "training" ? [event] : []));
  const kinds = [...Map.groupBy(told, failureKey).values()];
  const joined = kinds.map((same) => ({ ...same[0], count: same.reduce((sum, { count }) => sum + count, 0) }));
  return joined.sort((a, b) => b.count - a.count);
}
