import type { RunEvent, Task, Trajectory, TrajectoryGroup } from "../schema/index.ts";
import type { PageOptions, StepRange, TrajectoryFilter } from "./trajectory-filter.ts";

export type { PageOptions, StepRange, TrajectoryFilter };

/**
 * What a run leaves behind. One process writes a run, any number read it meanwhile. Everything but the configuration belongs
 * to a step, so that a resumed run can forget what came after its checkpoint.
 *
 *     const run = await sqliteRuns("runs").openForWriting("first", { now: Date.now });
 *     await run.append(7, {                                 // all of it or nothing
 *       metrics: { "reward/mean": 0.4, "loss/total": 0.02 },
 *       groups: [{ group, split: "train" }],
 *       events: [{ type: "step-end", step: 7, metrics: {} }],
 *       state: { guide: guide.state() },
 *     });
 *     await run.truncateAfter(5);                           // on resuming from the checkpoint of step 5
 *     const { trajectories, next } = await run.trajectories({ success: false, tool: "search" }, { limit: 50 });
 *     const { trajectory } = await run.trajectory(trajectories[0].key);
 *     await run.close();
 */
export interface RunStore extends RunReader {
  /**
   * Writes everything or, when something in it is refused or the disk is full, nothing. Appends take effect in the order
   * they were called; `writes` must not change until the promise resolves. Steps are whole numbers from 0.
   */
  append(step: number, writes: StepWrites): Promise<void>;
  /**
   * Forgets what belongs to later steps, as if the run had never gone on; state is what it was then, and `run-end` events are
   * gone: the run has not ended. -1 forgets all steps.
   */
  truncateAfter(step: number): Promise<void>;
}

/** What one append writes. A step may be appended to several times. */
export interface StepWrites {
  /** First forgets what belongs to later steps, as `truncateAfter` of the store does: what a resumed run keeps of it is never nowhere. */
  readonly truncateAfter?: number;
  /** A metric has one value per step: the last that was written. */
  readonly metrics?: Readonly<Record<string, number>>;
  /** In order. An `eval-end` or a `failure` that the step has already, written again by a resumed run, is kept once. */
  readonly events?: readonly RunEvent[];
  /** In order, after those the step has already. */
  readonly groups?: readonly GroupWrite[];
  /** Keys of groups that are forgotten with their trajectories, before `groups` are written; those that are gone already do no harm. */
  readonly removeGroups?: readonly number[];
  /** What must survive a restart, by name, as JSON can hold it. Values of earlier steps are kept for `truncateAfter`. */
  readonly state?: Readonly<Record<string, unknown>>;
  /** The resolved configuration, as JSON can hold it. It belongs to the run, not to the step: `truncateAfter` keeps it. */
  readonly config?: unknown;
  /** Drops values of state that only a return to before this step would need. */
  readonly pruneStateBefore?: number;
}

export interface GroupWrite {
  readonly group: TrajectoryGroup;
  /** What the attempts were for: `trainSplit`, which is learned from, or `heldOutSplit`, which never is. */
  readonly split: string;
  /** Of the trajectories that were learned from. */
  readonly advantages?: Advantages | undefined;
}

export interface RunReader {
  /** The last step that has anything. */
  latestStep(): Promise<number | undefined>;
  config(): Promise<unknown>;
  /** The newest value; undefined when there is none. */
  state(key: string): Promise<unknown>;
  /** Today's names, also where the run stored older ones. */
  metricNames(): Promise<string[]>;
  series(name: string, options?: SeriesOptions): Promise<MetricPoint[]>;
  events(options?: EventOptions): Promise<StoredEvent[]>;
  trajectories(filter?: TrajectoryFilter, page?: Partial<PageOptions>): Promise<TrajectoryPage>;
  countTrajectories(filter?: TrajectoryFilter): Promise<number>;
  /** By the `key` of a summary. */
  trajectory(key: number): Promise<StoredTrajectory>;
  /** By the `group` of a summary. */
  group(key: number): Promise<StoredGroup>;
  /** Waits for appends under way, then releases the run. */
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
