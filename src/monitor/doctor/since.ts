import { metric } from "../../schema/metric-names.ts";
import type { RunEvent } from "../../schema/run-event.ts";
import type { RunView, SeriesPoint } from "./detector.ts";
import { detect } from "./diagnose.ts";

const looks = 16;

/**
 * Since which step the detectors say what they say now, by code: the first of the steps after which, without a break, they
 * would have said it already. Long runs are looked at in places, and closer where something began.
 */
export function sinceSteps(view: RunView, codes: Iterable<string>): ReadonlyMap<string, number> {
  const steps = view.series(metric.reward).map(({ step }) => step);
  const seen = new Map<number, ReadonlySet<string>>();
  const isSeen = (code: string, i: number) => {
    const known = seen.get(i) ?? new Set(detect(viewUntil(view, steps[i])).map((finding) => finding.code));
    seen.set(i, known);
    return known.has(code);
  };
  const every = Math.max(1, Math.ceil(steps.length / looks));
  return new Map(
    [...new Set(codes)].flatMap((code) => {
      if (steps.length === 0) return [];
      let there = steps.length - 1;
      let before = there - every;
      while (before >= 0 && isSeen(code, before)) [there, before] = [before, before - every];
      let absent = Math.max(-1, before);
      while (there - absent > 1) {
        const middle = Math.floor((there + absent) / 2);
        if (isSeen(code, middle)) there = middle;
        else absent = middle;
      }
      return [[code, steps[there]] as const];
    }),
  );
}

/** The run as it was after a step. */
function viewUntil(view: RunView, last: number): RunView {
  const kept = new Map<string, readonly SeriesPoint[]>();
  return {
    config: view.config,
    groups: view.groups.filter(({ step }) => step <= last),
    events: view.events.filter((event) => stepOf(event) <= last),
    series(name) {
      const points = kept.get(name) ?? view.series(name).filter(({ step }) => step <= last);
      kept.set(name, points);
      return points;
    },
  };
}

/** Events without a step belong to the end, or to no step at all. */
function stepOf(event: RunEvent): number {
  return "step" in event ? event.step : Number.POSITIVE_INFINITY;
}
