import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { defined } from "../defined.ts";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { holderText, lockedError } from "./locked-error.ts";
import { MemoryRun } from "./memory/memory-run.ts";
import { currentMetrics } from "./metric-series.ts";
import type { RunCatalog, RunFilter, RunInfo, WriterOptions } from "./run-catalog.ts";
import { badRunId, isFound, isRunId, noSuchRun, pageOf, runName } from "./run-id.ts";
import type { RunReader, RunStore } from "./store.ts";
import { checkFilter } from "./trajectory-filter.ts";

export interface MemoryRunsOptions {
  /** Above the folders of checkpoints: engines write files. A folder for temporary files by default. */
  checkpoints: string;
}

const knownMemoryRunsOptions: KnownOptions<MemoryRunsOptions> = { checkpoints: true };

interface Entry {
  readonly id: string;
  readonly uid: number;
  readonly run: MemoryRun;
  writes: number;
  changed: number;
  /** Who has it open for writing. */
  holder: string | undefined;
}

/**
 * Runs that are gone when the process ends: for tests, and for programs that keep nothing. Every operation waits for its turn
 * in the event loop, as one over a network would, so code that passes with it does not count on a store that answers at once.
 */
export function memoryRuns(options: Partial<MemoryRunsOptions> = {}): RunCatalog {
  refuseUnknownOptions("memoryRuns", options, knownMemoryRunsOptions);
  return new MemoryRuns(options.checkpoints ?? join(tmpdir(), `ludus-memory-${process.pid}`));
}

class MemoryRuns implements RunCatalog {
  readonly #checkpoints: string;
  readonly #entries = new Map<string, Entry>();

  constructor(checkpoints: string) {
    this.#checkpoints = checkpoints;
  }

  async *list(filter: RunFilter = {}): AsyncGenerator<RunInfo> {
    await setImmediate();
    for (const entry of pageOf(this.#found(filter), filter)) yield infoOf(entry);
  }

  async count(filter: Pick<RunFilter, "search"> = {}): Promise<number> {
    await setImmediate();
    return this.#found(filter).length;
  }

  async info(id: string): Promise<RunInfo | undefined> {
    await setImmediate();
    const entry = this.#entries.get(id);
    return entry === undefined ? undefined : infoOf(entry);
  }

  async open(id: string): Promise<RunReader> {
    await setImmediate();
    const entry = this.#entries.get(id);
    if (entry === undefined) throw noSuchRun(id, "a run that was begun in this process");
    return openReader(entry);
  }

  async openForWriting(id: string, { now }: WriterOptions): Promise<RunStore> {
    await setImmediate();
    if (!isRunId(id)) throw badRunId(id);
    const entry = this.#entries.get(id) ?? {
      id,
      uid: this.#entries.size,
      run: new MemoryRun(),
      writes: 0,
      changed: now(),
      holder: undefined,
    };
    if (entry.holder !== undefined) throw lockedError(id, entry.holder);
    entry.holder = holderText({ pid: process.pid, host: hostname(), since: now() });
    this.#entries.set(id, entry);
    return openWriter(entry, now);
  }

  checkpointDirectory(id: string): string {
    if (!isRunId(id)) throw badRunId(id);
    return join(this.#checkpoints, id);
  }

  /** The last changed first. */
  #found(filter: RunFilter): readonly Entry[] {
    return [...this.#entries.values()]
      .filter(({ id }) => isFound(id, filter))
      .sort((a, b) => b.changed - a.changed || (a.id < b.id ? -1 : 1));
  }
}

function infoOf({ id, uid, run, writes, changed, holder }: Entry): RunInfo {
  const events = run.events({});
  const last = events.at(-1)?.event;
  return {
    id,
    name: runName(id),
    uid: String(uid),
    version: `${uid}:${writes}`,
    changed,
    isWritten: holder !== undefined,
    // a run that went on after its end has later events
    ...defined({ started: events[0]?.time, ended: last?.type === "run-end" ? last.reason : undefined }),
  };
}

function openReader({ id, run }: Entry): RunReader {
  let isClosed = false;
  const read = async <Value>(query: () => Value): Promise<Value> => {
    await setImmediate();
    if (isClosed) throw closedError(id);
    return query();
  };
  const metrics = currentMetrics({
    metricNames: () => read(() => run.metricNames()),
    series: (name, options = {}) => read(() => run.series(name, options)),
  });
  return {
    ...metrics,
    latestStep: () => read(() => run.latestStep()),
    config: () => read(() => run.config()),
    state: (key) => read(() => run.state(key)),
    events: (options = {}) => read(() => run.events(options)),
    trajectories: (filter = {}, page = {}) =>
      read(() => {
        checkFilter(filter, page);
        return run.trajectories(filter, page);
      }),
    countTrajectories: (filter = {}) =>
      read(() => {
        checkFilter(filter);
        return run.countTrajectories(filter);
      }),
    trajectory: (key) => read(() => run.trajectory(key)),
    group: (key) => read(() => run.group(key)),
    async close() {
      await setImmediate();
      isClosed = true;
    },
  };
}

function openWriter(entry: Entry, now: () => number): RunStore {
  const reader = openReader(entry);
  let isClosed = false;
  /** Writes, one after the other. */
  let queue: Promise<unknown> = Promise.resolve();
  const write = (work: () => void): Promise<void> => {
    if (isClosed) return Promise.reject(closedError(entry.id));
    const turn = queue.then(async () => {
      await setImmediate();
      work();
      entry.writes++;
      entry.changed = Math.max(entry.changed, now());
    });
    queue = turn.catch(() => {});
    return turn;
  };
  return {
    ...reader,
    append: (step, writes) => write(() => entry.run.append(step, writes, now)),
    truncateAfter: (step) => write(() => entry.run.truncateAfter(step)),
    async close() {
      if (isClosed) return;
      isClosed = true;
      await queue;
      await reader.close();
      entry.holder = undefined;
    },
  };
}

function closedError(id: string): LudusError {
  return new LudusError("store-closed", { got: `a use of ${id} after close()`, expected: "an open run" });
}
