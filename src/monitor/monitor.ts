import type { RunEvent } from "../schema/run-event.ts";
import type { StopReason } from "../schema/stop-reason.ts";
import type { Task } from "../schema/task.ts";
import type { Trajectory } from "../schema/trajectory.ts";

/**
 * Receives the events of a run. An exception does not end the run: it becomes a `warning` event for the other monitors, and the
 * monitor that threw receives nothing further. `monitor.contract.ts` is the suite for implementations.
 *
 *     const countSteps: Monitor = { name: "count", record: (event) => void (event.type === "step-end" && steps++) };
 */
export interface Monitor {
  readonly name: string;
  record(event: RunEvent): void;
  /** Called when a rollout of training ends, infrastructure failures included. */
  recordRollout?(rollout: FinishedRollout): void;
  close?(): void | Promise<void>;
}

/** A rollout as monitors receive it. */
export interface FinishedRollout {
  readonly id: string;
  readonly task: Task;
  readonly trajectories: readonly Trajectory[];
  readonly stop: StopReason;
  readonly failure?: string;
  readonly timing: {
    readonly totalMs: number;
    /** Milliseconds since the start of the rollout, for each turn; absent where they were not measured. */
    readonly turns?: readonly {
      readonly role: string;
      readonly startMs: number;
      readonly saidMs: number;
      readonly endMs: number;
    }[];
  };
}
