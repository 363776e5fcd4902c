import { wallClock } from "../clock.ts";
import { defined } from "../defined.ts";
import { LudusError } from "../errors.ts";
import { metric } from "../monitor/index.ts";
import type { RunSummary } from "../server/dashboard/answers.ts";
import { OpenRuns } from "../server/dashboard/open-runs.ts";
import { RunSummaries } from "../server/dashboard/run-summaries.ts";
import type { RunCatalog, RunReader } from "../store/index.ts";
import type { Screen } from "./command.ts";
import { dateText, figure } from "./number-text.ts";
import { harmless, type Paint, paintFor } from "./paint.ts";
import { usageError } from "./parse-options.ts";
import { textTable } from "./text-table.ts";

export interface ListedRun extends RunSummary {
  /** Success on held-out tasks, of the last evaluation. */
  readonly eval?: number;
}

export interface RunList {
  readonly runs: readonly ListedRun[];
  /** How many there are besides. */
  readonly others: number;
}

/** The runs of a catalog, newest first. */
export async function listRuns(catalog: RunCatalog, limit: number): Promise<RunList> {
  const total = await countRuns(catalog);
  const open = new OpenRuns(catalog);
  try {
    const summaries = new RunSummaries(open, wallClock);
    const runs: ListedRun[] = [];
    for await (const run of catalog.list({ limit })) {
      const summary = await summaries.of(run);
      const success = summary.problem === undefined ? await open.read(run.id, lastEval) : undefined;
      runs.push({ ...summary, ...defined({ eval: success }) });
    }
    return { runs, others: Math.max(0, total - limit) };
  } finally {
    await open.close();
  }
}

async function countRuns(catalog: RunCatalog): Promise<number> {
  try {
    return await catalog.count();
  } catch (error) {
    if (!(error instanceof LudusError) || error.code !== "no-runs") throw error;
    const hint = "ludus train makes runs/; name another folder if yours are elsewhere.";
    throw usageError("no-such-folder", { ...error.details, hint });
  }
}

async function lastEval(reader: RunReader): Promise<number | undefined> {
  return (await reader.series(metric.evalSuccess)).at(-1)?.value;
}

export function runsText({ runs, others }: RunList, directory: string, screen: Screen): string {
  if (runs.length === 0) return `No runs in ${directory}. ludus train makes one.\n`;
  const paint = paintFor(screen);
  const heads = ["run", "environment", "algorithm", "steps", "success", "eval", "last change", "state"];
  const hasParents = runs.some(({ parent }) => parent !== undefined);
  const rows = runs.map((run) => [
    ...[harmless(run.id), harmless(run.env ?? "-"), harmless(run.algorithm ?? "-"), stepsText(run)],
    ...[figure(run.success), figure(run.eval), dateText(run.changed), stateText(run, paint)],
    ...(hasParents ? [run.parent === undefined ? "" : harmless(`${run.parent.run}@${run.parent.step}`)] : []),
  ]);
  const allHeads = [...heads, ...(hasParents ? ["started from"] : [])];
  const more = others === 0 ? "" : `and ${others} more: --limit ${runs.length + others}\n`;
  return `${textTable([allHeads.map((head) => paint("bold", head)), ...rows], [3, 4, 5])}${more}`;
}

function stepsText({ steps, plannedSteps }: RunSummary): string {
  return plannedSteps === undefined ? String(steps) : `${steps}/${plannedSteps}`;
}

function stateText({ status, problem }: RunSummary, paint: Paint): string {
  if (problem !== undefined) return paint("red", `unreadable: ${harmless(problem)}`);
  if (status === "finished" || status === "early-stop") return paint("green", status);
  return status === "failed" || status === "doctor" ? paint("red", status) : paint("yellow", status);
}
