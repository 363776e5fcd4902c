import "../check-node.ts";

export { addressedRuns } from "./addressed-runs.ts";
export { type MemoryRunsOptions, memoryRuns } from "./memory-runs.ts";
export { type PostgresOptions, type PostgresRuns, postgres } from "./postgres-runs.ts";
export type { RunCatalog, RunFilter, RunInfo, WriterOptions } from "./run-catalog.ts";
export { sqliteRuns } from "./sqlite-runs.ts";
export { openRun, type ReadOptions, type WriteOptions } from "./sqlite-store.ts";
export type {
  Advantages,
  EventOptions,
  GroupWrite,
  MetricPoint,
  PageOptions,
  RunReader,
  RunStore,
  SeriesOptions,
  StepRange,
  StepWrites,
  StoredEvent,
  StoredGroup,
  StoredTrajectory,
  TrajectoryFilter,
  TrajectoryPage,
  TrajectorySummary,
} from "./store.ts";
export { type StoredFailure, storedFailures } from "./stored-failures.ts";
export { heldOutSplit, trainSplit } from "./trajectory-filter.ts";
