import { LudusError } from "../../errors.ts";
import { describeEnd } from "../sandbox/describe-end.ts";
import { type IsolatedRunner, isolated } from "../sandbox/run-isolated.ts";
import { notOneQuery } from "./one-query.ts";

export type SqlCell = number | string | null;

export interface SqlTable {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly SqlCell[])[];
}

export interface SqlRequest {
  /** Makes the database: CREATE TABLE, INSERT. Trusted. */
  readonly script: string;
  /** One query. Not trusted. */
  readonly sql: string;
  readonly maxRows: number;
  readonly maxChars: number;
}

export type SqlResult =
  | { readonly ok: true; readonly table: SqlTable }
  | { readonly ok: false; readonly problem: string };

export interface QueryLimits {
  readonly timeoutMs: number;
  readonly maxRows: number;
  readonly maxChars: number;
}

export const defaultQueryLimits: QueryLimits = { timeoutMs: 2_000, maxRows: 1_000, maxChars: 100_000 };

const maxSql = 20_000;

let shared: IsolatedRunner | undefined;

/** Processes for queries, of which each database is opened once; they end when they have nothing to do. */
function runner(): IsolatedRunner {
  const module = new URL(`./query-entry${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);
  shared ??= isolated({ module, export: "query", limits: { heapMb: 64, outputBytes: 4 << 20, startMs: 60_000 } });
  return shared;
}

/**
 * Runs one query of a policy in another process. What is wrong with the query, or with what it asks for (no end, too many
 * rows, too much memory), is the result's `problem`; a script that does not run throws.
 */
export async function runQuery(
  { script, sql }: Pick<SqlRequest, "script" | "sql">,
  { signal, ...limits }: Partial<QueryLimits> & { readonly signal?: AbortSignal } = {},
): Promise<SqlResult> {
  const { timeoutMs, maxRows, maxChars } = { ...defaultQueryLimits, ...limits };
  const problem = sql.length > maxSql ? `a query of more than ${maxSql} characters` : notOneQuery(sql);
  if (problem !== undefined) return { ok: false, problem };
  const request: SqlRequest = { script, sql, maxRows, maxChars };
  const run = await runner().run(request, { timeoutMs, ...(signal === undefined ? {} : { signal }) });
  switch (run.kind) {
    case "returned":
      return { ok: true, table: run.value as SqlTable };
    case "threw":
      if (run.name === "ToolError") return { ok: false, problem: run.message };
      throw failed(`${run.name}: ${run.message}`);
    case "timeout":
    case "out-of-memory":
    case "output-limit":
    case "exited":
      return { ok: false, problem: `the query was ended: it ${describeEnd(run)}` };
    case "cancelled":
      signal?.throwIfAborted();
      throw failed("it was cancelled");
    case "not-started":
      throw failed(describeEnd(run));
    default:
      return run satisfies never;
  }
}

function failed(what: string): LudusError {
  return new LudusError("sql-failed", {
    got: what,
    expected: "a script that makes the database, and a process to query it in",
    hint: "The script is the task's: run it with the sqlite3 command to see where it fails.",
  });
}
