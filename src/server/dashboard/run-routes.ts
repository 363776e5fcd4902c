import { Hono } from "hono";
import { z } from "zod";
import { Checkpoints } from "../../checkpoint/checkpoints.ts";
import { defined } from "../../defined.ts";
import { collect, type RunEvent } from "../../schema/index.ts";
import { heldOutSplit, type MetricPoint, type RunReader, storedFailures, trainSplit } from "../../store/index.ts";
import type { EventsAnswer, FailuresAnswer, RunAnswer, RunsAnswer, Series, SeriesAnswer } from "./answers.ts";
import type { Findings } from "./findings.ts";
import type { OpenRuns } from "./open-runs.ts";
import { pathText, readQuery, step } from "./request.ts";
import { finite, type RunSummaries } from "./run-summaries.ts";

const RunsQuery = z.object({
  search: z.string().max(200).default(""),
  skip: z.coerce.number().int().min(0).default(0),
  limit: z.coerce.number().int().min(1).max(100).default(25),
});

const SeriesQuery = z.object({
  run: z.array(z.string()).min(1).max(16),
  name: z.array(z.string()).min(1).max(32),
  points: z.coerce.number().int().min(2).max(2000).default(400),
  from: step.optional(),
  to: step.optional(),
});

const eventTypes = [
  ...(["run-start", "phase-start", "step-end", "eval-end"] as const),
  ...(["checkpoint-saved", "failure", "finding", "warning", "run-end"] as const),
] as const satisfies readonly RunEvent["type"][];

const EventsQuery = z.object({
  after: z.coerce.number().int().min(0).default(0),
  limit: z.coerce.number().int().min(1).max(500).default(100),
  type: z.array(z.enum(eventTypes)).optional(),
});

interface RunParts {
  readonly runs: OpenRuns;
  readonly summaries: RunSummaries;
  readonly findings: Findings;
}

/** Runs, their curves, events and findings. */
export function runRoutes({ runs, summaries, findings }: RunParts): Hono {
  const routes = new Hono();
  routes.get("/runs", async (context) => {
    const { search, skip, limit } = readQuery(context, RunsQuery);
    const total = await runs.catalog.count({ search });
    const page = await collect(runs.catalog.list({ search, skip, limit }));
    const answer: RunsAnswer = { runs: await inTurn(page, (run) => summaries.of(run)), total };
    return context.json(answer);
  });
  routes.get("/series", async (context) => {
    const { run: ids, name: names, ...options } = readQuery(context, SeriesQuery, ["run", "name"]);
    const answer: SeriesAnswer = { series: (await inTurn(ids, (id) => readSeries(runs, id, names, options))).flat() };
    return context.json(answer);
  });
  routes.get("/runs/:run", async (context) => {
    const id = pathText(context, "run");
    const summary = await summaries.of(await runs.find(id));
    const answer = await runs.read(id, async (reader): Promise<RunAnswer> => {
      const [metricNames, config] = [await reader.metricNames(), (await reader.config()) ?? null];
      const checkpoints = new Checkpoints(runs.catalog.checkpointDirectory(id)).steps();
      const trajectories = await reader.countTrajectories({ split: trainSplit });
      const heldOut = await reader.countTrajectories({ split: heldOutSplit });
      const error = await errorOf(reader);
      return { summary, metricNames, config, checkpoints, trajectories, heldOut, ...defined({ error }) };
    });
    return context.json(answer);
  });
  routes.get("/runs/:run/events", async (context) => {
    const { after, limit, type } = readQuery(context, EventsQuery, ["type"]);
    const wanted = { after, limit, ...defined({ types: type }) };
    const events = await runs.read(pathText(context, "run"), (reader) => reader.events(wanted));
    const last = events.at(-1);
    const answer: EventsAnswer = {
      events,
      ...defined({ next: events.length < limit || last === undefined ? undefined : last.order }),
    };
    return context.json(answer);
  });
  routes.get("/runs/:run/failures", async (context) => {
    const failures = await runs.read(pathText(context, "run"), storedFailures);
    return context.json({ failures } satisfies FailuresAnswer);
  });
  routes.get("/runs/:run/findings", async (context) =>
    context.json({ findings: await findings.of(await runs.find(pathText(context, "run"))) }),
  );
  return routes;
}

/** Why a run failed. */
async function errorOf(reader: RunReader): Promise<string | undefined> {
  const last = (await reader.events({ types: ["run-end"] })).at(-1)?.event;
  return last?.type === "run-end" ? last.message : undefined;
}

interface SeriesRange {
  readonly points: number;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

function readSeries(runs: OpenRuns, run: string, names: readonly string[], range: SeriesRange): Promise<Series[]> {
  return runs.read(run, (reader) =>
    inTurn(names, async (name) => columns(run, name, await readPoints(reader, name, range))),
  );
}

function readPoints(reader: RunReader, name: string, { points, from, to }: SeriesRange): Promise<MetricPoint[]> {
  const range = defined({ from, to });
  return reader.series(name, { maxPoints: points, ...range });
}

function columns(run: string, name: string, points: readonly MetricPoint[]): Series {
  return {
    run,
    name,
    steps: points.map(({ step }) => step),
    values: points.map(({ value }) => finite(value)),
    min: points.map(({ min }) => finite(min)),
    max: points.map(({ max }) => finite(max)),
    counts: points.map(({ count }) => count),
  };
}

/** One after the other: a page must not open all its runs at once. */
async function inTurn<Item, Value>(items: readonly Item[], work: (item: Item) => Promise<Value>): Promise<Value[]> {
  const values: Value[] = [];
  for (const item of items) values.push(await work(item));
  return values;
}
