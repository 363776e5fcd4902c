// Runs in a process of its own, which is ended where a query does not: SQLite cannot be interrupted from the thread that runs it.
import { DatabaseSync } from "node:sqlite";
import { ToolError } from "../tool.ts";
import type { SqlCell, SqlRequest, SqlTable } from "./run-query.ts";

const keptDatabases = 16;
/** Where Node can set them; where not, the process' memory and time bound the same. */
const limits = { length: 4 * 2 ** 20, attach: 0 };
const opened = new Map<string, DatabaseSync>();

/** Rows of one query, which `notOneQuery` has let pass, over a database that a script makes; no query changes it. */
export function query({ script, sql, maxRows, maxChars }: SqlRequest): SqlTable {
  const database = databaseOf(script);
  try {
    return read(database, sql, maxRows, maxChars);
  } catch (error) {
    if (error instanceof ToolError) throw error;
    throw new ToolError(error instanceof Error ? error.message : String(error));
  }
}

function databaseOf(script: string): DatabaseSync {
  const known = opened.get(script);
  if (known !== undefined) return known;
  const database = new DatabaseSync(":memory:", { limits });
  database.exec("PRAGMA temp_store = MEMORY");
  database.exec(script);
  database.exec("PRAGMA query_only = ON");
  opened.set(script, database);
  const [oldest] = opened.keys();
  if (opened.size > keptDatabases) {
    opened.get(oldest)?.close();
    opened.delete(oldest);
  }
  return database;
}

function read(database: DatabaseSync, sql: string, maxRows: number, maxChars: number): SqlTable {
  const statement = database.prepare(sql);
  statement.setReadBigInts(true);
  const columns = statement.columns().map(({ name }) => name);
  statement.setReturnArrays(true);
  const rows: SqlCell[][] = [];
  let chars = 0;
  for (const row of statement.iterate() as Iterable<unknown>) {
    if (rows.length === maxRows) throw new ToolError(`the result has more than ${maxRows} rows`);
    const cells = (row as readonly unknown[]).map(toCell);
    for (const cell of cells) chars += typeof cell === "string" ? cell.length : 8;
    if (chars > maxChars) throw new ToolError(`the result has more than ${maxChars} characters`);
    rows.push(cells);
  }
  return { columns, rows };
}

function toCell(value: unknown): SqlCell {
  if (value === null || typeof value === "string") return value;
  // JSON has no infinity
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  return `x'${Buffer.from(value as Uint8Array).toString("hex")}'`;
}
