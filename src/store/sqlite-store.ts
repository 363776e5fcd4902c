import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { currentMetrics } from "./metric-series.ts";
import type { WriterOptions } from "./run-catalog.ts";
import { createAdvantages, truncateAdvantages } from "./sqlite/advantage-table.ts";
import { createAnnotations, truncateAnnotations, viewAnnotations } from "./sqlite/annotation-table.ts";
import { type Database, openReadable, openWritable } from "./sqlite/database.ts";
import { events, recordEvent, truncateEvents } from "./sqlite/event-tables.ts";
import { metricNames, recordMetrics, series, truncateMetrics } from "./sqlite/metric-tables.ts";
import { createRun, hasRun } from "./sqlite/run-schema.ts";
import { config, pruneState, setConfig, setState, state, truncateState } from "./sqlite/state-tables.ts";
import {
  countTrajectories,
  group,
  recordGroup,
  removeGroup,
  trajectories,
  trajectory,
  truncateTrajectories,
} from "./sqlite/trajectory-tables.ts";
import { lockForWriting } from "./sqlite/writer-lock.ts";
import { checkedStep } from "./step-keys.ts";
import { checkWrites } from "./step-writes.ts";
import type { RunReader, RunStore, StepWrites } from "./store.ts";
import { checkFilter } from "./trajectory-filter.ts";

export interface WriteOptions extends WriterOptions {
  readOnly?: false;
  /** Beyond this size the file is treated as a full disk is. */
  maxBytes?: number;
}

export interface ReadOptions {
  readOnly: true;
}

const knownOpenOptions: KnownOptions<WriteOptions | ReadOptions> = { readOnly: true, maxBytes: true, now: true };

/**
 * Opens the `run.sqlite` of one run's folder; makes it when there is none. Only one process at a time may write a run, any
 * number may read it meanwhile. `sqliteRuns` opens runs by id and finds them.
 */
export async function openRun(directory: string, options: WriteOptions): Promise<RunStore>;
export async function openRun(directory: string, options: ReadOptions): Promise<RunReader>;
export async function openRun(directory: string, options: WriteOptions | ReadOptions): Promise<RunReader> {
  refuseUnknownOptions("openRun", options, knownOpenOptions);
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new LudusError("store-missing", {
      got: `"${directory}"`,
      expected: "a folder that exists",
      hint: options.readOnly ? "Is the path right?" : "Make it first: mkdir(directory, { recursive: true }).",
    });
  }
  return options.readOnly ? openReader(directory) : openWriter(directory, options);
}

function openReader(directory: string): RunReader {
  const file = join(directory, "run.sqlite");
  if (!existsSync(file)) return noRun(file);
  const database = openReadable(file);
  return closedOnFailure(database.close.bind(database), () => {
    if (!hasRun(database)) noRun(file);
    viewAnnotations(database);
    return reader(database, () => database.close());
  });
}

function noRun(file: string): never {
  throw new LudusError("store-missing", {
    got: `${file}, which has no run in it`,
    expected: "a run that has begun",
    hint: "Is it the run's own folder, not the one above?",
  });
}

function openWriter(directory: string, { now, maxBytes }: WriteOptions): RunStore {
  const unlock = lockForWriting(directory, now);
  const database = closedOnFailure(unlock, () => openWritable(join(directory, "run.sqlite")));
  const close = () => {
    database.close();
    unlock();
  };
  return closedOnFailure(close, () => {
    if (maxBytes !== undefined) {
      const pages = Math.max(1, Math.floor(maxBytes / database.number("PRAGMA page_size")));
      database.execute(`PRAGMA max_page_count = ${pages}`);
    }
    if (!hasRun(database)) createRun(database);
    createAdvantages(database);
    createAnnotations(database);
    return writer(database, now, close);
  });
}

function closedOnFailure<Value>(close: () => void, open: () => Value): Value {
  try {
    return open();
  } catch (error) {
    close();
    throw error;
  }
}

function reader(database: Database, close: () => void): RunReader {
  const metrics = currentMetrics({
    metricNames: async () => metricNames(database),
    series: async (name, options = {}) => series(database, name, options),
  });
  return {
    ...metrics,
    latestStep: async () => latestStep(database),
    config: async () => config(database),
    state: async (key) => state(database, key),
    events: async (options = {}) => events(database, options),
    trajectories: async (filter = {}, page = {}) => {
      checkFilter(filter, page);
      return trajectories(database, filter, page);
    },
    countTrajectories: async (filter = {}) => {
      checkFilter(filter);
      return countTrajectories(database, filter);
    },
    trajectory: async (key) => trajectory(database, key),
    group: async (key) => group(database, key),
    close: async () => close(),
  };
}

function writer(database: Database, now: () => number, close: () => void): RunStore {
  let isClosed = false;
  return {
    ...reader(database, () => {
      if (isClosed) return;
      isClosed = true;
      try {
        // the log goes into the file, so that the file alone is the run; readers may keep some of it waiting
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)");
      } finally {
        close();
      }
    }),
    append: async (step, writes) => {
      checkWrites(step, writes);
      database.transaction(() => write(database, step, writes, now));
    },
    truncateAfter: async (step) => {
      checkedStep(step + 1); // -1 forgets all
      database.transaction(() => truncate(database, step));
    },
  };
}

function truncate(database: Database, step: number): void {
  truncateMetrics(database, step);
  truncateEvents(database, step);
  truncateTrajectories(database, step);
  truncateAdvantages(database, step);
  truncateAnnotations(database, step);
  truncateState(database, step);
}

function write(database: Database, step: number, writes: StepWrites, now: () => number): void {
  if (writes.truncateAfter !== undefined) truncate(database, writes.truncateAfter);
  recordMetrics(database, step, writes.metrics ?? {});
  for (const event of writes.events ?? []) recordEvent(database, step, event, now());
  for (const key of writes.removeGroups ?? []) removeGroup(database, key);
  for (const group of writes.groups ?? []) recordGroup(database, step, group);
  for (const [key, value] of Object.entries(writes.state ?? {})) setState(database, step, key, value);
  if (writes.config !== undefined) setConfig(database, writes.config);
  if (writes.pruneStateBefore !== undefined) pruneState(database, writes.pruneStateBefore);
}

function latestStep(database: Database): number | undefined {
  const latest = database.number(
    `SELECT max(step) FROM (
       SELECT max(step) AS step FROM metrics UNION ALL SELECT max(step) FROM events
       UNION ALL SELECT max(step) FROM state UNION ALL SELECT step FROM groups WHERE id = (SELECT max(id) FROM groups))`,
  );
  return Number.isNaN(latest) ? undefined : latest;
}
