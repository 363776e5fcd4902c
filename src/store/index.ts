export { openRun, type ReadOptions, type WriteOptions } from "./sqlite-store.ts";
export type {
  Advantages,
  EventOptions,
  MetricPoint,
  PageOptions,
  RunReader,
  RunStore,
  RunWrites,
  SeriesOptions,
  StepRange,
  StoredEvent,
  StoredGroup,
  StoredTrajectory,
  TrajectoryFilter,
  TrajectoryPage,
  TrajectorySummary,
} from "./store.ts";
