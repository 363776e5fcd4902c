import type { RunEndReason } from "../schema/index.ts";
import type { RunReader, RunStore } from "./store.ts";

/**
 * Where runs are: lists them, opens them for reading, and gives each to one writer at a time. Readers such as the dashboard
 * know runs by their id alone; whether a run is a folder or rows of a database is the catalog's affair.
 *
 *     const runs = sqliteRuns("runs");
 *     for await (const { id, changed, ended } of runs.list({ search: "lr-1e-3", limit: 20 })) console.log(id, changed, ended);
 *     const reader = await runs.open("sweep/lr-1e-3");
 */
export interface RunCatalog {
  /** The last changed first. */
  list(filter?: RunFilter): AsyncIterable<RunInfo>;
  /** How many `list` would give without `skip` and `limit`. */
  count(filter?: Pick<RunFilter, "search">): Promise<number>;
  /** Undefined where there is no such run. */
  info(id: string): Promise<RunInfo | undefined>;
  /** For reading, also while it is being written. Throws `no-such-run`. */
  open(id: string): Promise<RunReader>;
  /** Makes the run when there is none. A second writer is refused with `store-locked`, which says who holds the run. */
  openForWriting(id: string, options: WriterOptions): Promise<RunStore>;
  /** The folder whose checkpoints belong to the run, for `Checkpoints`; it need not exist. */
  checkpointDirectory(id: string): string;
}

export interface WriterOptions {
  /** Milliseconds since 1970: the time of events. */
  now: () => number;
}

export interface RunFilter {
  /** Words that must all occur in the id, in any case. */
  search?: string;
  skip?: number;
  limit?: number;
}

export interface RunInfo {
  /** Parts are separated by `/`. */
  readonly id: string;
  /** The last part of the id. */
  readonly name: string;
  /** Tells the run from another that had the same id before it. */
  readonly uid: string;
  /** Changes with every write. */
  readonly version: string;
  /** Milliseconds since 1970: the time of the first event. */
  readonly started?: number;
  /** Milliseconds since 1970: the last write. */
  readonly changed: number;
  /** How it ended; absent while it goes on, or when its process was killed. */
  readonly ended?: RunEndReason;
  /** Whether a writer has it open. */
  readonly isWritten: boolean;
  /** Why it cannot be read. */
  readonly problem?: string;
}
