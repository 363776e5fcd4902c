import { type Failure, failuresText } from "../../../schema/failure.ts";
import { metric } from "../../../schema/metric-names.ts";
import { infrastructureStops } from "../../../schema/stop-reason.ts";
import type { Detector, Finding, RunView } from "../detector.ts";
import { summedPoints } from "../trend.ts";

const code = "everything-crashed";

/** A step, an evaluation or a warm start of which every attempt failed through no fault of the policy. */
export const everythingCrashed: Detector = {
  code,
  detect(view) {
    const lost = lostByEvents(view) ?? lostByMetrics(view);
    return lost === undefined ? [] : [finding(lost.step, lost.failures)];
  },
};

interface Lost {
  readonly step: number;
  readonly failures: readonly Failure[];
}

function lostByEvents({ events }: RunView): Lost | undefined {
  const failures = events.flatMap((event) => (event.type === "failure" ? [event] : []));
  const occasions = [...Map.groupBy(failures, ({ step, during }) => `${step} ${during}`).values()];
  const lost = occasions.filter((same) => same.reduce((sum, { count }) => sum + count, 0) >= same[0].attempts);
  return lost.length === 0 ? undefined : { step: lost[0][0].step, failures: lost[0] };
}

/** Of a run that stored no failures. */
function lostByMetrics(view: RunView): Lost | undefined {
  const counted = infrastructureStops.filter((stop) => stop !== "cancelled");
  const point = summedPoints(view, counted.map(metric.stop)).find(({ value }) => value > 1 - 1e-6);
  return point === undefined ? undefined : { step: point.step, failures: [] };
}

function finding(step: number, failures: readonly Failure[]): Finding {
  const what = failures[0]?.during ?? "training";
  const occasion = {
    training: `step ${step}`,
    evaluation: `the evaluation at step ${step}`,
    demonstration: "the warm start",
  };
  const text = failures.length === 0 ? "" : `: ${failuresText(failures)}`;
  return {
    code,
    severity: "error",
    step,
    message: `Every attempt of ${occasion[what]} failed through no fault of the policy${text}.`,
    evidence: {
      during: what,
      ...(failures.length === 0 ? {} : { rollouts: failures.slice(0, 3).map(({ rollout }) => rollout) }),
    },
    remedy:
      "Mend the environment, tool, agent or engine that the text names (ludus env check plays some episodes), then train " +
      "again with --run RUN --resume: it goes on after its last whole step.",
  };
}
