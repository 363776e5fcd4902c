import type { RunEvent, Task, Trajectory, TrajectoryGroup } from "../schema/index.ts";
import type { PageOptions, StepRange, TrajectoryFilter } from "./trajectory-filter.ts";

export type { PageOptions, StepRange, TrajectoryFilter };

/**
 * What a run leaves behind. One process writes a run, any number read it meanwhile. Everything belongs to a step, so that a
 * resumed run can forget what came after its checkpoint.
 *
 *     const run = await openRun("runs/first", { now: Date.now });
 *     await run.transaction((write) => {                    // all of a step or nothing of it
 *       write.recordMetrics(7, { "reward/mean": 0.4, "loss/total": 0.02 });
 *       write.recordGroup(7, group, "train");
 *       write.recordEvent(7, { type: "step-end", step: 7, metrics: {} });
 *       write.setState(7, "guide", guide.state());
 *     });
 *     await run.truncateAfter(5);                           // on resuming from the checkpoint of step 5
 *     const { trajectories, next } = await run.trajectories({ success: false, tool: "search" }, { limit: 50 });
 *     const { trajectory } = await run.trajectory(trajectories[0].key);
 *     await run.close();
 */
export interface RunStore extends RunReader {
  /** Runs `write` at once and keeps either all it wrote or, when it throws or the disk is full, nothing. It must not wait. */
  transaction(write: (writes: RunWrites) => void): Promise<void>;
  /** Forgets what belongs to later steps, as if the run had never gone on; state is what it was then. -1 forgets all steps. */
  truncateAfter(step: number): Promise<void>;
}

/** What can be written. Steps are whole numbers from 0; groups of a step are kept in the order they are written. */
export interface RunWrites {
  /** A metric has one value per step: the last that was written. */
  recordMetrics(step: number, metrics: Readonly<Record<string, number>>): void;
  recordEvent(step: number, event: RunEvent): void;
  /** `split` says what the attempts were for, such as `train` or `eval`; `learned` has what was learned from, by trajectory. */
  recordGroup(step: number, group: TrajectoryGroup, split: string, learned?: Advantages): void;
  /** The resolved configuration, as JSON can hold it. It belongs to the run, not to a step. */
  setConfig(config: unknown): void;
  /** What must survive a restart, by name, as JSON can hold it. Earlier steps' values are kept for `truncateAfter`. */
  setState(step: number, key: string, value: unknown): void;
  /** Drops values of state that only a return to before `step` would need. */
  pruneState(step: number): void;
}

export interface RunReader {
  /** The last step that has anything. */
  latestStep(): Promise<number | undefined>;
  config(): Promise<unknown>;
  /** The newest value; undefined when there is none. */
  state(key: string): Promise<unknown>;
  metricNames(): Promise<string[]>;
  series(name: string, options?: SeriesOptions): Promise<MetricPoint[]>;
  events(options?: EventOptions): Promise<StoredEvent[]>;
  trajectories(filter?: TrajectoryFilter, page?: Partial<PageOptions>): Promise<TrajectoryPage>;
  countTrajectories(filter?: TrajectoryFilter): Promise<number>;
  /** By the `key` of a summary. */
  trajectory(key: number): Promise<StoredTrajectory>;
  /** By the `group` of a summary. */
  group(key: number): Promise<StoredGroup>;
  /** Gives back files and locks; a writer's data is then all in one file. */
  close(): Promise<void>;
}

export interface SeriesOptions extends StepRange {
  /** Neighbouring steps are joined until no more than so many points are left. */
  maxPoints?: number;
}

/** One step, or several joined: then `value` is their mean, and NaN if one of them was. */
export interface MetricPoint {
  /** The last one joined. */
  readonly step: number;
  readonly value: number;
  readonly min: number;
  readonly max: number;
  readonly count: number;
}

export interface EventOptions {
  /** Only events later than that of this order: how a viewer follows a run. */
  after?: number;
  types?: readonly RunEvent["type"][];
  limit?: number;
}

export interface StoredEvent {
  /** Grows with every event. */
  readonly order: number;
  readonly step: number;
  /** By the writer's clock. */
  readonly time: number;
  readonly event: RunEvent;
}

export interface TrajectoryPage {
  readonly trajectories: readonly TrajectorySummary[];
  /** Where the next page starts; absent on the last. */
  readonly next?: number;
}

export interface TrajectorySummary extends Pick<Trajectory, "id" | "rollout" | "taskId" | "role" | "stop" | "weight"> {
  readonly key: number;
  readonly group: number;
  readonly step: number;
  readonly split: string;
  readonly reward: number;
  readonly success: boolean;
  readonly turns: number;
  readonly tokens: number;
  /** Those that were called, each once. */
  readonly tools: readonly string[];
  /** What was recorded with its turns: each name with its `kind`, empty where it has none. Absent where nothing was. */
  readonly annotations?: Readonly<Record<string, string>>;
}

/** By the id of a trajectory: what was given to each of its `T` tokens; only those that were sampled matter. */
export type Advantages = ReadonlyMap<string, Float32Array>;

export interface StoredTrajectory {
  readonly summary: TrajectorySummary;
  readonly task: Task;
  readonly trajectory: Trajectory;
  /** Absent where it was not learned from; 0 where nothing was sampled. */
  readonly advantages_T?: Float32Array;
}

export interface StoredGroup extends TrajectoryGroup {
  readonly step: number;
  readonly split: string;
  readonly members: readonly TrajectorySummary[];
}
