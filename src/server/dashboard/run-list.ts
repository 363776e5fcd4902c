import { z } from "zod";
import { bounds } from "../../bounds.ts";
import { collect } from "../../schema/index.ts";
import type { RunInfo } from "../../store/index.ts";
import { type RunSort, type RunSummary, type RunsAnswer, runSorts } from "./answers.ts";
import type { Findings } from "./findings.ts";
import type { OpenRuns } from "./open-runs.ts";
import type { RunSummaries } from "./run-summaries.ts";

export const RunsQuery = z.object({
  search: z.string().max(200).default(""),
  skip: z.coerce.number().int().min(0).default(0),
  limit: z.coerce.number().int().min(1).max(100).default(25),
  sort: z.enum(runSorts).default("changed"),
  order: z.enum(["up", "down"]).default("down"),
});

export interface RunParts {
  readonly runs: OpenRuns;
  readonly summaries: RunSummaries;
  readonly findings: Findings;
}

/** A page of runs. Any order but the catalog's own reads the summaries of all that fit the search. */
export async function listRuns(parts: RunParts, query: z.infer<typeof RunsQuery>): Promise<RunsAnswer> {
  const { runs, summaries } = parts;
  const { search, skip, limit, sort, order } = query;
  const total = await runs.catalog.count({ search });
  if (sort === "changed" && order === "down") {
    const page = await collect(runs.catalog.list({ search, skip, limit }));
    return { runs: await inTurn(page, (run) => summaries.of(run)), total };
  }
  const all = await collect(runs.catalog.list({ search, limit: bounds.sortedRuns }));
  const started = performance.now();
  let unexamined = 0;
  const keyed = await inTurn(all, async (run) => {
    const summary = await summaries.of(run);
    const isLate = sort === "findings" && performance.now() - started > examineMs && !parts.findings.isKnown(run);
    if (isLate) unexamined++;
    return { summary, key: isLate ? undefined : await sortKey(parts, sort, run, summary) };
  });
  keyed.sort((a, b) => compareKeys(a.key, b.key, order === "down" ? -1 : 1));
  return {
    runs: keyed.slice(skip, skip + limit).map(({ summary }) => summary),
    total,
    ...(unexamined > 0 && { unexamined }),
  };
}

/** The doctor takes a while for each run: one request looks at as many as fit into this. */
const examineMs = 1500;

type SortKey = number | string | undefined;

async function sortKey(parts: RunParts, sort: RunSort, run: RunInfo, summary: RunSummary): Promise<SortKey> {
  switch (sort) {
    case "changed":
      return summary.changed;
    case "name":
      return summary.id;
    case "status":
      return summary.problem === undefined ? summary.status : "failed";
    case "env":
      return summary.env;
    case "heldOut":
      return summary.heldOut?.last.success.mean ?? undefined;
    case "reward":
      return summary.reward ?? undefined;
    case "steps":
      return summary.steps;
    case "duration":
      return summary.started === undefined ? undefined : summary.changed - summary.started;
    case "findings": {
      const { errors, warnings } = await parts.findings.counts(run);
      return 1000 * errors + warnings;
    }
    default:
      return sort satisfies never;
  }
}

/** What is not known comes last in either direction. */
function compareKeys(a: SortKey, b: SortKey, direction: 1 | -1): number {
  if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? 1 : -1;
  if (typeof a === "string" && typeof b === "string") return direction * a.localeCompare(b, "en", { numeric: true });
  return direction * (Number(a) - Number(b));
}

/** One after the other: a page must not open all its runs at once. */
export async function inTurn<Item, Value>(
  items: readonly Item[],
  work: (item: Item) => Promise<Value>,
): Promise<Value[]> {
  const values: Value[] = [];
  for (const item of items) values.push(await work(item));
  return values;
}
