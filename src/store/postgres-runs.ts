import { join } from "node:path";
import { defined } from "../defined.ts";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { fromLosslessJson, runEventFromJson } from "../schema/index.ts";
import { currentMetrics } from "./metric-series.ts";
import type { Row } from "./postgres/query.ts";
import { RunQueries } from "./postgres/read-run.ts";
import { lockClass } from "./postgres/run-schema.ts";
import { PostgresServer } from "./postgres/server.ts";
import { numberIn, parsedIn, textIn } from "./postgres/values.ts";
import { appendWrite, truncateWrite, type Write } from "./postgres/write-run.ts";
import { RunWriter } from "./postgres/writer.ts";
import type { RunCatalog, RunFilter, RunInfo, WriterOptions } from "./run-catalog.ts";
import { badRunId, isRunId, noSuchRun, runName } from "./run-id.ts";
import { checkedStep } from "./step-keys.ts";
import type { RunReader, RunStore } from "./store.ts";
import { checkFilter } from "./trajectory-filter.ts";

export interface PostgresOptions {
  /** The schema of the tables, `ludus` by default: others keep their runs apart on the same database. */
  schema: string;
  /**
   * Above the folders of checkpoints: engines write files, and machines that go on with each other's runs share it. The
   * variable `LUDUS_CHECKPOINTS` by default, or `runs`.
   */
  checkpoints: string;
  /** Milliseconds for which a connection that was cut is tried again; 30 s by default. */
  retryMs: number;
  /** Connections for reading; a run that is written has one of its own. 4 by default. */
  maxConnections: number;
}

const knownPostgresOptions: KnownOptions<PostgresOptions> = {
  schema: true,
  checkpoints: true,
  retryMs: true,
  maxConnections: true,
};

const defaults = { schema: "ludus", retryMs: 30_000, maxConnections: 4 };

/** Runs on a PostgreSQL server. */
export interface PostgresRuns extends RunCatalog {
  /** Ends idle connections at once. Without it they end by themselves, and keep no process alive. */
  close(): Promise<void>;
}

/**
 * Runs of many users and machines on one PostgreSQL server, with the package `pg`. Tables are made when the first run is written.
 *
 *     await train({ …, run: "first", store: postgres("postgres://ludus@db.example/ludus") });   // the password: PGPASSWORD
 */
export function postgres(url: string, options: Partial<PostgresOptions> = {}): PostgresRuns {
  refuseUnknownOptions("postgres", options, knownPostgresOptions);
  const { checkpoints = process.env.LUDUS_CHECKPOINTS ?? "runs", ...server } = { ...defaults, ...options };
  return new PostgresCatalog(new PostgresServer(url, server), checkpoints);
}

class PostgresCatalog implements PostgresRuns {
  readonly #server: PostgresServer;
  readonly #checkpoints: string;

  constructor(server: PostgresServer, checkpoints: string) {
    this.#server = server;
    this.#checkpoints = checkpoints;
  }

  async *list(filter: RunFilter = {}): AsyncGenerator<RunInfo> {
    if (!(await this.#server.isPrepared())) return;
    const { search, skip = 0, limit } = filter;
    const rows = await this.#server.query(
      `${infoColumns} WHERE ${isFound} ORDER BY r.changed DESC, r.name LIMIT $2 OFFSET $3`,
      [wordsOf(search), limit ?? null, skip],
    );
    for (const row of rows) yield infoOf(row);
  }

  async count({ search }: Pick<RunFilter, "search"> = {}): Promise<number> {
    if (!(await this.#server.isPrepared())) return 0;
    const [row] = await this.#server.query(`SELECT count(*) AS count FROM runs r WHERE ${isFound}`, [wordsOf(search)]);
    return numberIn(row!, "count");
  }

  async info(id: string): Promise<RunInfo | undefined> {
    if (!isRunId(id) || !(await this.#server.isPrepared())) return undefined;
    const [row] = await this.#server.query(`${infoColumns} WHERE r.name = $1`, [id]);
    return row === undefined ? undefined : infoOf(row);
  }

  async open(id: string): Promise<RunReader> {
    const info = await this.info(id);
    if (info === undefined) throw noSuchRun(id, `a run on ${this.#server.address.shown}`);
    return openReader(this.#server, id, Number(info.uid));
  }

  async openForWriting(id: string, { now }: WriterOptions): Promise<RunStore> {
    if (!isRunId(id)) throw badRunId(id);
    return openWriter(this.#server, id, await RunWriter.open(this.#server, id, now), now);
  }

  checkpointDirectory(id: string): string {
    if (!isRunId(id)) throw badRunId(id);
    return join(this.#checkpoints, id);
  }

  close(): Promise<void> {
    return this.#server.close();
  }
}

const isFound = "NOT EXISTS (SELECT 1 FROM unnest($1::text[]) AS word WHERE strpos(r.search, word) = 0)";

function wordsOf(search = ""): string[] {
  return search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
}

const infoColumns = `SELECT r.id, r.name, r.version, r.changed,
  (SELECT time FROM events WHERE run = r.id ORDER BY id LIMIT 1) AS started,
  (SELECT event FROM events WHERE run = r.id ORDER BY id DESC LIMIT 1) AS last,
  EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = ${lockClass} AND objid = r.id::oid
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) AS is_written FROM runs r`;

function infoOf(row: Row): RunInfo {
  const [id, uid] = [textIn(row, "name"), String(numberIn(row, "id"))];
  const started = numberIn(row, "started");
  const basic = { id, name: runName(id), uid, version: `${uid}:${numberIn(row, "version")}` };
  const known = { ...basic, changed: numberIn(row, "changed"), isWritten: row.is_written === true };
  if (Number.isNaN(started)) return known;
  const last = parsedIn(row, "last", (text) => runEventFromJson(fromLosslessJson(text)));
  // a run that went on after its end has later events
  return { ...known, started, ...defined({ ended: last.type === "run-end" ? last.reason : undefined }) };
}

function openReader(server: PostgresServer, id: string, run: number): RunReader {
  let isClosed = false;
  const queries = new RunQueries(async (text, values) => {
    if (isClosed) throw closedError(id);
    return server.query(text, values);
  }, run);
  const metrics = currentMetrics({
    metricNames: () => queries.metricNames(),
    series: (name, options = {}) => queries.series(name, options),
  });
  return {
    ...metrics,
    latestStep: () => queries.latestStep(),
    config: () => queries.config(),
    state: (key) => queries.state(key),
    events: (options = {}) => queries.events(options),
    trajectories: async (filter = {}, page = {}) => {
      checkFilter(filter, page);
      return queries.trajectories(filter, page);
    },
    countTrajectories: async (filter = {}) => {
      checkFilter(filter);
      return queries.countTrajectories(filter);
    },
    trajectory: (key) => queries.trajectory(key),
    group: (key) => queries.group(key),
    async close() {
      isClosed = true;
    },
  };
}

function openWriter(server: PostgresServer, id: string, writer: RunWriter, now: () => number): RunStore {
  const reader = openReader(server, id, writer.run);
  let isClosed = false;
  /** Writes, one after the other. */
  let queue: Promise<unknown> = Promise.resolve();
  const enqueue = async (make: () => Write): Promise<void> => {
    if (isClosed) throw closedError(id);
    const turn = queue.then(() => writer.write(make()));
    queue = turn.catch(() => {});
    return turn;
  };
  return {
    ...reader,
    append: (step, writes) => enqueue(() => appendWrite(step, writes, now)),
    truncateAfter: (step) =>
      enqueue(() => {
        checkedStep(step + 1); // -1 forgets all
        return truncateWrite(step);
      }),
    async close() {
      if (isClosed) return;
      isClosed = true;
      await queue;
      await reader.close();
      await writer.close();
    },
  };
}

function closedError(id: string): LudusError {
  return new LudusError("store-closed", { got: `a use of ${id} after close()`, expected: "an open run" });
}
