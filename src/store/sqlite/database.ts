import { existsSync, statSync } from "node:fs";
import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { LudusError } from "../../errors.ts";
import { loadSqlite } from "./load-sqlite.ts";
import { explained, readStored } from "./sqlite-error.ts";

/** One connection: statements are prepared once, errors name the file and the remedy. */
export class Database {
  readonly file: string;
  readonly #connection: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(file: string, connection: DatabaseSync) {
    this.file = file;
    this.#connection = connection;
  }

  execute(sql: string): void {
    explained(this.file, () => this.#connection.exec(sql));
  }

  run(sql: string, ...parameters: SQLInputValue[]): void {
    explained(this.file, () => this.#statement(sql).run(...parameters.map(exact)));
  }

  all(sql: string, ...parameters: SQLInputValue[]): Row[] {
    const rows = explained(this.file, () => this.#statement(sql).all(...parameters.map(exact)));
    return rows.map((row) => new Row(this.file, row));
  }

  first(sql: string, ...parameters: SQLInputValue[]): Row | undefined {
    const row = explained(this.file, () => this.#statement(sql).get(...parameters.map(exact)));
    return row === undefined ? undefined : new Row(this.file, row);
  }

  /** The only value of the only row; NaN for nothing. */
  number(sql: string, ...parameters: SQLInputValue[]): number {
    const row = explained(this.file, () => this.#statement(sql).get(...parameters.map(exact)));
    const [value] = Object.values(row ?? {});
    return typeof value === "number" ? value : Number.NaN;
  }

  /** All of `work` or nothing of it. */
  transaction(work: () => void): void {
    this.execute("BEGIN IMMEDIATE");
    try {
      work();
      this.execute("COMMIT");
    } catch (error) {
      // SQLite has already rolled back after some errors
      if (this.#connection.isOpen && this.#connection.isTransaction) this.execute("ROLLBACK");
      throw error;
    }
  }

  close(): void {
    this.#statements.clear();
    if (this.#connection.isOpen) explained(this.file, () => this.#connection.close());
  }

  #statement(sql: string): StatementSync {
    const statement = this.#statements.get(sql) ?? this.#connection.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

/** Node binds every number as a float, which neither divides like a whole number nor bounds the keys of a text index. */
function exact(value: SQLInputValue): SQLInputValue {
  return Number.isSafeInteger(value) ? BigInt(Number(value)) : value;
}

/** A row whose values are of the type one asks for, or the file is damaged. */
export class Row {
  readonly #file: string;
  readonly #values: Record<string, SQLOutputValue>;

  constructor(file: string, values: Record<string, SQLOutputValue>) {
    this.#file = file;
    this.#values = values;
  }

  /** SQLite has no NaN, and keeps nothing in its place. */
  number(column: string): number {
    const value = this.#values[column];
    if (typeof value === "number") return value;
    return value === null ? Number.NaN : this.#refuse(column, value);
  }

  text(column: string): string {
    const value = this.#values[column];
    return typeof value === "string" ? value : this.#refuse(column, value);
  }

  bytes(column: string): Uint8Array {
    const value = this.#values[column];
    return value instanceof Uint8Array ? value : this.#refuse(column, value);
  }

  /** What was kept in a column, made into what it stands for. */
  parsed<Value>(column: string, parse: (text: string) => Value): Value {
    return readStored(this.#file, column, () => parse(this.text(column)));
  }

  #refuse(column: string, value: SQLOutputValue | undefined): never {
    return readStored(this.#file, column, () => {
      throw new TypeError(`it holds ${value === null ? "nothing" : typeof value}`);
    });
  }
}

/** Opens for writing; makes the file when there is none. */
export function openWritable(file: string): Database {
  return explained(file, () => {
    const { DatabaseSync } = loadSqlite();
    const database = new Database(file, new DatabaseSync(file, { timeout: 5000 }));
    // a crash of the machine may lose the last transactions, a crash of the process none
    return configured(database, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
  });
}

/** Opens for reading, beside a writer or without one. */
export function openReadable(file: string): Database {
  return explained(file, () => {
    const { DatabaseSync } = loadSqlite();
    const check = "SELECT count(*) FROM sqlite_schema";
    try {
      return configured(new Database(file, new DatabaseSync(file, { readOnly: true, timeout: 5000 })), check);
    } catch (error) {
      // readers share a file beside the log; where the folder is read-only it cannot be made, nor can anyone be writing
      if (!isUnopenable(error) || hasLog(file)) throw error;
      const url = pathToFileURL(file);
      url.search = "?immutable=1";
      return configured(new Database(file, new DatabaseSync(url, { readOnly: true })), check);
    }
  });
}

function configured(database: Database, sql: string): Database {
  try {
    database.execute(sql);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function isUnopenable(error: unknown): boolean {
  if (error instanceof LudusError) return error.code === "store-unopenable" || error.code === "store-read-only";
  return error instanceof Error && "errcode" in error && error.errcode === 14;
}

function hasLog(file: string): boolean {
  return existsSync(`${file}-wal`) && statSync(`${file}-wal`).size > 0;
}
