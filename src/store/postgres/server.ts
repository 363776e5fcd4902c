import { createHash } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { LudusError } from "../../errors.ts";
import { type Address, parseAddress } from "./address.ts";
import { loadPg, type Pg, type PgConfig, type PgPool, type PgSession } from "./load-pg.ts";
import { explained, isConnectionError } from "./postgres-error.ts";
import type { Query } from "./query.ts";
import { createSchema, hasSchema } from "./run-schema.ts";

export interface ServerOptions {
  /** The schema of the tables. */
  readonly schema: string;
  /** How long a connection that was cut is tried again. */
  readonly retryMs: number;
  /** Connections for reading. */
  readonly maxConnections: number;
  /** Of each session. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** One connection of its own, for work in transactions. */
export interface Session {
  readonly query: Query;
  /** All of `work` or nothing of it. */
  transaction<Value>(work: (query: Query) => Promise<Value>): Promise<Value>;
  readonly isBroken: boolean;
  close(): Promise<void>;
}

const firstPauseMs = 50;
const maxPauseMs = 1000;
const connectMs = 10_000;
const idleMs = 10_000;

/** A PostgreSQL server. Questions are asked again when their connection is cut, within `retryMs`; a first connection is not. */
export class PostgresServer {
  readonly address: Address;
  readonly options: ServerOptions;
  #pg: Promise<Pg> | undefined;
  #pool: PgPool | undefined;
  #hasAnswered = false;
  #schema: Promise<void> | undefined;

  constructor(url: string, options: ServerOptions) {
    this.address = parseAddress(url);
    if (!/^[a-z_][a-z0-9_]{0,62}$/.test(options.schema)) {
      throw new LudusError("bad-schema", {
        got: JSON.stringify(options.schema),
        expected: "small letters, digits and _, not beginning with a digit, such as ludus",
      });
    }
    this.options = options;
  }

  /** Asks a question that changes nothing, or that may be asked twice. */
  readonly query: Query = (text, values = []) =>
    this.retried(async () => {
      const { rows } = await (await this.#openPool()).query({ name: statementName(text), text, values });
      this.#hasAnswered = true;
      return rows;
    });

  /** Makes the tables where there are none. */
  async prepare(): Promise<void> {
    this.#schema ??= this.retried(() => this.#create());
    try {
      await this.#schema;
    } catch (error) {
      this.#schema = undefined;
      throw error;
    }
  }

  /** Whether the tables are there; throws when a newer Ludus made them. */
  async isPrepared(): Promise<boolean> {
    return hasSchema(this.query, this.options.schema, this.address.shown);
  }

  async #create(): Promise<void> {
    if (await this.isPrepared()) return;
    const session = await this.session();
    try {
      await session.transaction((query) => createSchema(query, this.options.schema));
    } finally {
      await session.close();
    }
  }

  /** Once; whoever needs another after a cut asks again. */
  async session(): Promise<Session> {
    const { Client } = await this.#load();
    const client = new Client(await this.#config());
    const session = new OpenSession(client, this.address);
    try {
      await client.connect();
      this.#hasAnswered = true;
      return session;
    } catch (error) {
      await client.end().catch(() => {});
      throw explained(this.address, error);
    }
  }

  /** Does again what a cut connection broke off, until `retryMs` are over. */
  async retried<Value>(work: () => Promise<Value>, signal?: AbortSignal): Promise<Value> {
    const started = performance.now();
    for (let pause = firstPauseMs; ; pause = Math.min(2 * pause, maxPauseMs)) {
      try {
        return await work();
      } catch (error) {
        const isOver = performance.now() - started >= this.options.retryMs;
        if (!this.#hasAnswered || isOver || !isConnectionError(error)) throw explained(this.address, error);
      }
      await setTimeout(pause, undefined, signal === undefined ? {} : { signal });
    }
  }

  /** Ends idle connections at once; without it they end by themselves, and keep no process alive. */
  async close(): Promise<void> {
    const pool = this.#pool;
    this.#pool = undefined;
    await pool?.end();
  }

  async #openPool(): Promise<PgPool> {
    if (this.#pool !== undefined) return this.#pool;
    const { Pool } = await this.#load();
    const { maxConnections: max } = this.options;
    const config = await this.#config();
    this.#pool ??= new Pool({ ...config, max, allowExitOnIdle: true, idleTimeoutMillis: idleMs });
    // an idle connection that is cut is replaced when it is needed
    this.#pool.on("error", () => {});
    return this.#pool;
  }

  #load(): Promise<Pg> {
    this.#pg ??= loadPg();
    return this.#pg;
  }

  async #config(): Promise<PgConfig> {
    const { types } = await this.#load();
    const { url, password } = this.address;
    const settings = {
      search_path: this.options.schema,
      // a machine that is gone frees its locks within a minute
      tcp_keepalives_idle: 20,
      tcp_keepalives_interval: 10,
      tcp_keepalives_count: 3,
      ...this.options.settings,
    };
    return {
      connectionString: url,
      password,
      application_name: "ludus",
      options: Object.entries(settings)
        .map(([name, value]) => `-c ${name}=${value}`)
        .join(" "),
      keepAlive: true,
      connectionTimeoutMillis: connectMs,
      types: { getTypeParser: (oid, format) => (wholeNumbers.has(oid) ? Number : types.getTypeParser(oid, format)) },
    };
  }
}

const statementNames = new Map<string, string>();

/** Texts are few: values are never written into them. */
function statementName(text: string): string {
  const known = statementNames.get(text);
  if (known !== undefined) return known;
  const name = `ludus_${createHash("sha256").update(text).digest("hex").slice(0, 24)}`;
  statementNames.set(text, name);
  return name;
}

/** int8: keys and steps are numbers that JavaScript can hold. */
const wholeNumbers = new Set([20]);

class OpenSession implements Session {
  readonly #client: PgSession;
  readonly #address: Address;
  isBroken = false;

  constructor(client: PgSession, address: Address) {
    this.#client = client;
    this.#address = address;
    client.on("error", () => {
      this.isBroken = true;
    });
  }

  readonly query: Query = async (text, values = []) => {
    try {
      // without values several statements may be in one text, which cannot be prepared
      const statement = values.length === 0 ? { text, values } : { name: statementName(text), text, values };
      return (await this.#client.query(statement)).rows;
    } catch (error) {
      if (isConnectionError(error)) this.isBroken = true;
      throw explained(this.#address, error);
    }
  };

  async transaction<Value>(work: (query: Query) => Promise<Value>): Promise<Value> {
    await this.query("BEGIN");
    try {
      const value = await work(this.query);
      await this.query("COMMIT");
      return value;
    } catch (error) {
      if (!this.isBroken) await this.query("ROLLBACK").catch(() => {});
      throw error;
    }
  }

  async close(): Promise<void> {
    this.isBroken = true;
    await this.#client.end().catch(() => {});
  }
}
