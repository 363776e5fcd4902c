import { z } from "zod";
import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import type { WantToSay } from "../../policy/call-format.ts";
import { compact } from "../../policy/formats/compact.ts";
import { hermes } from "../../policy/formats/hermes.ts";
import { createRng } from "../../random.ts";
import { makeScore, type Score } from "../../schema/score.ts";
import { sameRows } from "../../scorer/same-rows.ts";
import { generated } from "../../task/generated.ts";
import { runQuery, type SqlTable } from "../../tool/sql/run-query.ts";
import { ToolError } from "../../tool/tool.ts";
import { type AdviceContext, defineEnv, type ToolMaker } from "../define-env.ts";
import type { Env, FinishedEpisode } from "../env.ts";
import {
  type AnalystLevel,
  type AnalystTask,
  analystDatabase,
  analystKey,
  analystLevels,
  analystSql,
  askAnalyst,
  type ChartMark,
  chartColumns,
  chartMarks,
  drawAnalystTask,
} from "./analyst-tasks.ts";
import { checkWholeOptions } from "./check-options.ts";
import { pick } from "./draw.ts";
import type { Style } from "./moves.ts";

export interface DataAnalystOptions {
  style: Style;
  /** How hard: 1 one number, 2 rows by a column, 3 a join, 4 a chart, 5 two joins. The split `two-joins` has 5 alone. */
  levels: readonly AnalystLevel[];
  /** Rows of the table of sales. */
  sales: number;
  turns: number;
  /** Milliseconds for one query. */
  queryMs: number;
  seed: number;
}

const knownDataAnalystOptions: KnownOptions<DataAnalystOptions> = {
  style: true,
  levels: true,
  sales: true,
  turns: true,
  queryMs: true,
  seed: true,
};

const defaults: DataAnalystOptions = {
  style: "compact",
  levels: [1, 2, 3, 4],
  sales: 40,
  turns: 5,
  queryMs: 2000,
  seed: 0,
};

export interface DataAnalystState {
  /** The script that makes the database. */
  readonly database: string;
  /** Queries that ran. */
  readonly looked: string[];
  submitted: { readonly sql: string; readonly mark?: ChartMark; readonly x?: string; readonly y?: string } | undefined;
}

/**
 * Questions about sales, answered with SQL over a SQLite database, or with a chart: a query and what is drawn of it. What was submitted
 * is right where it gives the right rows on this database and on another one of the same tables, so that rows that were
 * copied from a result are not. Queries run in a process of their own: one that does not end, or that does more than read, is an error
 * that the policy is told.
 */
export function dataAnalyst(options: Partial<DataAnalystOptions> = {}): Env<AnalystTask, DataAnalystState> {
  refuseUnknownOptions("dataAnalyst", options, knownDataAnalystOptions);
  const chosen = { ...defaults, ...options };
  checkOptions(chosen);
  const { style, levels, turns, seed, queryMs } = chosen;
  return defineEnv({
    name: "data-analyst",
    description: "Answer questions about sales with SQL over a SQLite database, and draw charts",
    tasks: generated((rng, split) => drawAnalystTask(rng, split === "two-joins" ? 5 : pick(rng, levels)), {
      name: "data-analyst",
      seed,
      splits: ["train", "test", "two-joins"],
      key: analystKey,
    }),
    start: ({ task }): { state: DataAnalystState; say: string } => ({
      state: { database: databaseOf(task.seed, chosen), looked: [], submitted: undefined },
      say: askAnalyst(task, style),
    }),
    tools: (tool) => analystTools(tool, chosen),
    score: (episode) => score(episode, chosen),
    expert: (context) => advise(context),
    actions: (context) => listActions(context),
    stateKey: ({ database, looked, submitted }) => `${hash(database)} ${looked.join(";")} ${JSON.stringify(submitted)}`,
    // queries wait for a process, which is not their fault
    limits: { turns, turnTokens: style === "tags" ? 512 : 160, toolMs: 60_000 + queryMs, envMs: 60_000 + 4 * queryMs },
    format: style === "tags" ? hermes() : compact(),
  });
}

function checkOptions({ levels, sales, turns, queryMs }: DataAnalystOptions): void {
  checkWholeOptions("data-analyst", {
    sales: [sales, 1, 2_000],
    turns: [turns, 1, 100],
    queryMs: [queryMs, 1, 60_000],
  });
  if (levels.length > 0 && levels.every((level) => analystLevels.includes(level))) return;
  throw new LudusError("bad-option", {
    got: `levels = [${levels}] of data-analyst`,
    expected: "some of 1, 2, 3, 4, 5",
  });
}

function databaseOf(seed: number, { sales }: DataAnalystOptions): string {
  return analystDatabase(createRng(seed), sales);
}

/** FNV-1a: a name for a long text. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return value;
}

const shownRows = 20;

function analystTools(tool: ToolMaker<DataAnalystState>, { queryMs, style }: DataAnalystOptions) {
  const run = async (state: DataAnalystState, sql: string, signal: AbortSignal): Promise<SqlTable> => {
    const result = await runQuery({ script: state.database, sql }, { timeoutMs: queryMs, maxRows: 200, signal });
    if (!result.ok) throw new ToolError(result.problem);
    return result.table;
  };
  const sql = z.string().describe("One SELECT");
  const column = z.string().describe("The name of a column of the result");
  return {
    query: tool({
      description: "Shows the rows of a query",
      input: z.object({ sql }),
      run: async (input, { state, signal }) => {
        const table = await run(state, input.sql, signal);
        state.looked.push(input.sql);
        return showTable(table, style);
      },
    }),
    submit: tool({
      description: "Gives the query that answers the question, and ends",
      input: z.object({ sql }),
      run: async (input, { state, signal, finish }) => {
        await run(state, input.sql, signal);
        state.submitted = { sql: input.sql };
        finish(input.sql);
      },
    }),
    chart: tool({
      description: "Gives a chart of a query, and ends",
      input: z.object({ mark: z.enum(chartMarks), x: column, y: column, sql }),
      run: async (input, { state, signal, finish }) => {
        const { columns } = await run(state, input.sql, signal);
        for (const name of [input.x, input.y]) {
          if (!columns.includes(name))
            throw new ToolError(`no column ${name.slice(0, 40)} among ${columns.join(", ")}`);
        }
        state.submitted = input;
        finish(JSON.stringify(input));
      },
    }),
  };
}

function showTable({ columns, rows }: SqlTable, style: Style): string {
  const shown = rows.slice(0, shownRows).map((row) => row.map((cell) => String(cell)).join(" "));
  const more = rows.length > shownRows ? [`and ${rows.length - shownRows} more rows`] : [];
  const head = style === "tags" ? [columns.join(" ")] : [];
  return [...head, ...shown, ...more].join("\n") || "nothing";
}

async function score(
  { task, state: { submitted, database }, signal }: FinishedEpisode<AnalystTask, DataAnalystState>,
  options: DataAnalystOptions,
): Promise<Score> {
  const outcome = (isRight: boolean) => makeScore({ outcome: isRight ? 1 : 0 });
  if (submitted === undefined || !isRightChart(task, submitted)) return outcome(false);
  const other = databaseOf(task.seed + 1, options);
  for (const script of [database, other]) {
    const said = await runQuery({ script, sql: submitted.sql }, { timeoutMs: options.queryMs, signal });
    if (!said.ok) return outcome(false);
    const gold = await runQuery({ script, sql: analystSql(task) }, { signal });
    if (!gold.ok) throw new LudusError("bad-task", { got: gold.problem, expected: "a gold query that runs" });
    const drawn = task.chart === undefined ? said.table : pickColumns(said.table, submitted.x, submitted.y);
    if (!sameRows(drawn, gold.table, task.top !== undefined).isRight) return outcome(false);
  }
  return outcome(true);
}

function isRightChart(task: AnalystTask, submitted: NonNullable<DataAnalystState["submitted"]>): boolean {
  if (submitted.mark !== task.chart) return false;
  if (task.chart === undefined) return true;
  const { x, y } = chartColumns(task);
  return submitted.x === x && submitted.y === y;
}

/** A chart may leave columns out. */
function pickColumns({ columns, rows }: SqlTable, x = "", y = ""): SqlTable {
  const places = [x, y].map((name) => columns.indexOf(name));
  return { columns: [x, y], rows: rows.map((row) => places.map((place) => row[place] ?? null)) };
}

type Tools = ReturnType<typeof analystTools>;
type Advice = AdviceContext<AnalystTask, DataAnalystState, Tools>;

function advise({ task, state, call }: Advice): WantToSay {
  const sql = analystSql(task);
  return state.looked.includes(sql) ? deliver(task, sql, call) : call.query({ sql });
}

function deliver(task: AnalystTask, sql: string, call: Advice["call"]): WantToSay {
  if (task.chart === undefined) return call.submit({ sql });
  return call.chart({ mark: task.chart, ...chartColumns(task), sql });
}

/** What answers the question, and the same of its neighbours: another measure, grouping or chart. */
function listActions({ task, call }: Advice): WantToSay[] {
  const others: AnalystTask[] = [
    task,
    { ...task, measure: task.measure === "count" ? "units" : "count" },
    ...(["city", "item", "kind"] as const).filter((by) => by !== task.by).map((by) => ({ ...task, by })),
    ...(task.chart === undefined
      ? []
      : chartMarks.filter((mark) => mark !== task.chart).map((chart) => ({ ...task, chart }))),
  ];
  return others.flatMap((other) => {
    const sql = analystSql(other);
    return [call.query({ sql }), deliver(other, sql, call)];
  });
}
