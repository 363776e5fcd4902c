import type { RunEvent } from "../schema/run-event.ts";
import type { StopReason } from "../schema/stop-reason.ts";
import type { Task } from "../schema/task.ts";
import type { Trajectory } from "../schema/trajectory.ts";

/** Where news of a run goes. A monitor that fails must not end a run: what it throws is reported once and it is left out. */
export interface Monitor {
  readonly name: string;
  record(event: RunEvent): void;
  /** Called as each rollout of training ends, spoiled ones included. */
  recordRollout?(rollout: FinishedRollout): void;
  close?(): void | Promise<void>;
}

/** What a monitor is told of a rollout. */
export interface FinishedRollout {
  readonly id: string;
  readonly task: Task;
  readonly trajectories: readonly Trajectory[];
  readonly stop: StopReason;
  readonly failure?: string;
  readonly timing: {
    readonly totalMs: number;
    /** Milliseconds since the beginning, for each turn of the episode; absent where nobody measured. */
    readonly turns?: readonly {
      readonly role: string;
      readonly startMs: number;
      readonly saidMs: number;
      readonly endMs: number;
    }[];
  };
}
