import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { sameRows } from "../scorer/same-rows.ts";
import { wrong } from "../scorer/verdict.ts";
import { runQuery } from "../tool/sql/run-query.ts";
import type { TextOf } from "./episode-text.ts";
import type { Reward } from "./reward.ts";
import { verified, wholeAnswer } from "./verified.ts";

export interface SqlResultOptions<Data, State> {
  /** The script that makes the task's SQLite database. */
  database: (task: Data) => string;
  /** A query that gives the right rows. */
  gold: (task: Data) => string;
  /** Whether the rows have to come in the order of the gold ones; not by default. */
  ordered?: (task: Data) => boolean;
  /** The query; the whole answer by default. */
  text?: TextOf<Data, State>;
  /** Milliseconds for a query; 2,000 by default. */
  timeoutMs?: number;
}

const knownSqlResultOptions: KnownOptions<SqlResultOptions<unknown, unknown>> = {
  database: true,
  gold: true,
  ordered: true,
  text: true,
  timeoutMs: true,
};

/**
 * 1 where the answer is a query that gives the rows of the gold one, else 0. It is run in another process, on a database that it cannot
 * change; what does not end, or needs too much memory, is wrong.
 */
export function sqlResult<Data, State = unknown>(options: SqlResultOptions<Data, State>): Reward<Data, State> {
  refuseUnknownOptions("sqlResult", options, knownSqlResultOptions);
  const { database, gold, ordered = () => false, text = wholeAnswer, timeoutMs = 2_000 } = options;
  return verified(async (episode) => {
    const { task, signal } = episode;
    const script = database(task);
    const expected = await runQuery({ script, sql: gold(task) }, { signal });
    if (!expected.ok) {
      throw new LudusError("bad-task", { got: `a gold query: ${expected.problem}`, expected: "a query that runs" });
    }
    const said = await runQuery({ script, sql: text(episode) }, { signal, timeoutMs });
    return said.ok ? sameRows(said.table, expected.table, ordered(task)) : wrong(said.problem);
  });
}
