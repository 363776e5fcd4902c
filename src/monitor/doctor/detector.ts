import type { RunEvent } from "../../schema/run-event.ts";
import type { TrajectoryGroup } from "../../schema/trajectory-group.ts";

/**
 * A detector looks at a run, stored or going on, and says what is wrong with it. It is a pure function: the same view gives
 * the same findings. One file in `detectors/` each, one line in `detectors/index.ts`.
 *
 *     export const rewardNotFinite: Detector = {
 *       code: "reward-not-finite",
 *       detect(view) {
 *         const bad = view.series(metric.reward).find(({ value }) => !Number.isFinite(value));
 *         if (bad === undefined) return [];
 *         const message = `The mean reward of step ${bad.step} is no number.`;
 *         return [{ code: "reward-not-finite", severity: "error", message, evidence: {}, remedy: "…", step: bad.step }];
 *       },
 *     };
 */
export interface Detector {
  readonly code: string;
  detect(view: RunView): readonly Finding[];
}

/** `error`: what is learned is wrong or lost. `warning`: it will be if nothing is done. `info`: good to know. */
export type Severity = "error" | "warning" | "info";

export interface Finding {
  /** Stable, for programs; the message is for people. */
  readonly code: string;
  readonly severity: Severity;
  readonly message: string;
  /** What it was seen by: numbers, steps, ids of trajectories. */
  readonly evidence: Evidence;
  /** `RUN` and `RUN@STEP` stand for the run, and for a checkpoint of it from before `step`: `ludus doctor` names them. */
  readonly remedy: string;
  /** The step from which on it was seen. */
  readonly step: number;
}

export type Evidence = Readonly<Record<string, number | string | readonly (number | string)[]>>;

/** What detectors see. A run that goes on has no groups: nobody waits for them to be looked at. */
export interface RunView {
  /** By step. Empty where the run has no such metric. */
  series(name: string): readonly SeriesPoint[];
  /** A sample of the run: of each step that is in it, all groups. */
  readonly groups: readonly SampledGroup[];
  /** As the run described it; `undefined` where nobody did. */
  readonly config: unknown;
  readonly events: readonly RunEvent[];
}

/** One step, or several joined in a long run: their mean and their largest. */
export interface SeriesPoint {
  readonly step: number;
  readonly value: number;
  readonly max: number;
}

export interface SampledGroup extends TrajectoryGroup {
  readonly step: number;
}
