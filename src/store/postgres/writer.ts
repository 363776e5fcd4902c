import { hostname } from "node:os";
import { LudusError } from "../../errors.ts";
import { holderText, lockedError } from "../locked-error.ts";
import { isConnectionError } from "./postgres-error.ts";
import type { Query, Row } from "./query.ts";
import { lockClass } from "./run-schema.ts";
import type { PostgresServer, Session } from "./server.ts";
import { numberIn, textIn } from "./values.ts";
import type { Write } from "./write-run.ts";

/** How long our own last session may take to end. */
const lockWaitMs = 5000;

/**
 * The one writer of a run. A session's lock on the run keeps others out; it is gone when the session is. Each write raises the
 * run's version, so a writer whose connection was cut in a commit sees whether it took place, and does it again or does not.
 */
export class RunWriter {
  readonly run: number;
  readonly #server: PostgresServer;
  readonly #id: string;
  readonly #now: () => number;
  #session: Session;
  #backend: number;
  #version: number;
  /** Raised whenever a process opens the run for writing: that of another process fences this one off. */
  readonly #writer: number;

  private constructor(server: PostgresServer, id: string, now: () => number, opened: Opened) {
    this.#server = server;
    this.#id = id;
    this.#now = now;
    this.#session = opened.session;
    this.run = opened.run;
    this.#backend = opened.backend;
    this.#version = opened.version;
    this.#writer = opened.writer;
  }

  static async open(server: PostgresServer, id: string, now: () => number): Promise<RunWriter> {
    await server.prepare();
    const opened = await server.retried(async () => {
      const session = await server.session();
      try {
        return await openFor(session, id, now());
      } catch (error) {
        await session.close();
        throw error;
      }
    });
    return new RunWriter(server, id, now, opened);
  }

  /** Exactly once, also when the connection is cut meanwhile. */
  async write(write: Write): Promise<void> {
    const next = this.#version + 1;
    await this.#server.retried(async () => {
      if (this.#session.isBroken) await this.#reconnect();
      if (this.#version === next) return;
      try {
        await this.#session.transaction(async (query) => {
          const fence = `UPDATE runs SET version = version + 1, changed = greatest(changed, $4)
                         WHERE id = $1 AND writer = $2 AND version = $3 RETURNING version`;
          const [row] = await query(fence, [this.run, this.#writer, next - 1, this.#now()]);
          if (row === undefined) throw await this.#lost(query);
          await write(query, this.run);
        });
        this.#version = next;
      } catch (error) {
        if (isConnectionError(error)) await this.#session.close();
        throw error;
      }
    });
  }

  async close(): Promise<void> {
    await this.#session.close();
  }

  async #reconnect(): Promise<void> {
    await this.#session.close();
    const session = await this.#server.session();
    try {
      // the server may not know yet that our last session is gone
      await session.query(
        `SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN runs r ON r.holder_backend = l.pid AND l.objid = r.id::oid
         WHERE l.locktype = 'advisory' AND l.classid = ${lockClass} AND r.id = $1 AND r.writer = $2 AND l.pid = $3`,
        [this.run, this.#writer, this.#backend],
      );
      const [ours] = await session.query("SELECT 1 FROM runs WHERE id = $1 AND writer = $2", [this.run, this.#writer]);
      if (ours === undefined) throw await this.#lost(session.query);
      await session.query(`SET lock_timeout = ${lockWaitMs}`);
      await session.query(`SELECT pg_advisory_lock(${lockClass}::int, $1)`, [this.run]);
      const [row] = await session.query(
        `UPDATE runs SET holder_backend = pg_backend_pid() WHERE id = $1 AND writer = $2
         RETURNING version, holder_backend AS backend`,
        [this.run, this.#writer],
      );
      if (row === undefined) throw await this.#lost(session.query);
      this.#version = numberIn(row, "version");
      this.#backend = numberIn(row, "backend");
      this.#session = session;
    } catch (error) {
      await session.close();
      throw error;
    }
  }

  async #lost(query: Query): Promise<LudusError> {
    const [row] = await query(holderColumns, [this.run]);
    if (row !== undefined) return lockedError(this.#id, holderOf(row));
    return new LudusError("no-such-run", {
      got: `"${this.#id}", which was deleted while it was written`,
      expected: "the run",
    });
  }
}

interface Opened {
  readonly session: Session;
  readonly run: number;
  readonly backend: number;
  readonly version: number;
  readonly writer: number;
}

async function openFor(session: Session, id: string, now: number): Promise<Opened> {
  const { query } = session;
  const make = "INSERT INTO runs(name, search, changed) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING";
  await query(make, [id, id.toLowerCase(), now]);
  const [found] = await query("SELECT id FROM runs WHERE name = $1", [id]);
  const run = numberIn(found!, "id");
  await takeLock(query, run, id);
  const [row] = await query(
    `UPDATE runs SET writer = writer + 1, holder_pid = $2, holder_host = $3, holder_since = $4, holder_backend = pg_backend_pid()
     WHERE id = $1 RETURNING version, writer, holder_backend AS backend`,
    [run, process.pid, hostname(), now],
  );
  const [version, writer, backend] = ["version", "writer", "backend"].map((column) => numberIn(row!, column));
  return { session, run, version: version!, writer: writer!, backend: backend! };
}

const holderColumns = "SELECT holder_pid, holder_host, holder_since FROM runs WHERE id = $1";

async function takeLock(query: Query, run: number, id: string): Promise<void> {
  const [row] = await query(`SELECT pg_try_advisory_lock(${lockClass}::int, $1) AS locked`, [run]);
  if (row?.locked === true) return;
  const [holder] = await query(holderColumns, [run]);
  throw lockedError(id, holder === undefined ? "another process" : holderOf(holder));
}

function holderOf(row: Row): string {
  if (row.holder_pid === null) return "another process";
  return holderText({
    pid: numberIn(row, "holder_pid"),
    host: textIn(row, "holder_host"),
    since: numberIn(row, "holder_since"),
  });
}
