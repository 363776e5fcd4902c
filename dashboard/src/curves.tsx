import { useEffect, useMemo, useRef, useState } from "react";
import type {
  Evaluation,
  EvaluationsAnswer,
  Series,
  SeriesAnswer,
  ShownFinding,
  SpansAnswer,
} from "../../src/server/dashboard/answers.ts";
import { type Problem, useAnswer } from "./api.ts";
import { Chart, type ChartLine } from "./chart.tsx";
import { type Axis, axisOf, type CurveSettings, CurveTools, useCurveSettings } from "./curve-settings.tsx";
import { align, type Columns, onGrid, smooth, stacked } from "./lines.ts";
import { ProblemNote } from "./pieces.tsx";
import { type ChartPlan, planCharts } from "./plan-charts.ts";
import { setQuery } from "./router.tsx";

interface CurvesProps {
  readonly runs: readonly string[];
  readonly metricNames: readonly string[];
  readonly findings: readonly ShownFinding[];
  readonly version: number;
}

/** All charts of one run, or of several runs overlaid. */
export const Curves = ({ runs, metricNames, findings, version }: CurvesProps) => {
  const settings = useCurveSettings();
  const path = `/spans?${runs.map((run) => `run=${encodeURIComponent(run)}`).join("&")}`;
  const { answer, problem } = useAnswer<SpansAnswer>(path, version);
  const spans = answer?.spans;
  const axis = useMemo(() => axisOf(spans ?? [], settings), [spans, settings]);
  // with another axis in between, every chart would be asked for twice
  const isReady = answer !== undefined || problem !== undefined;
  const { sections, others } = useMemo(() => planCharts(metricNames), [metricNames]);
  const [search, setSearch] = useState("");
  const shared = { runs, findings, version, settings, axis, isReady };
  const found = others.filter(({ title }) => title.includes(search));
  return (
    <>
      <CurveTools settings={settings} axis={axis} />
      {sections.map(({ title, charts }) => (
        <section key={title} className="section">
          <h2>{title}</h2>
          <div className="charts">
            {charts.map((plan) => (
              <ChartCard key={plan.title} plan={plan} {...shared} />
            ))}
          </div>
        </section>
      ))}
      {others.length > 0 && (
        <details className="section">
          <summary>All other metrics ({others.length})</summary>
          <input
            type="search"
            placeholder="Find a metric"
            aria-label="Find a metric"
            value={search}
            onChange={(event) => setSearch(event.target.value)}
          />
          <div className="charts">
            {found.slice(0, 60).map((plan) => (
              <ChartCard key={plan.title} plan={plan} {...shared} />
            ))}
          </div>
        </details>
      )}
    </>
  );
};

interface CardProps {
  readonly runs: readonly string[];
  readonly plan: ChartPlan;
  readonly findings: readonly ShownFinding[];
  readonly version: number;
  readonly settings: CurveSettings;
  readonly axis: Axis;
  readonly isReady: boolean;
}

/** Loads its values once it scrolls into view. */
const ChartCard = ({ runs, plan, findings, version, settings, axis, isReady }: CardProps) => {
  const place = useRef<HTMLDivElement>(null);
  const isSeen = useSeen(place) && isReady;
  const { lines, data, yRange, problem } = useLines(plan, runs, version, settings, axis, isSeen);
  return (
    <div ref={place} className="card">
      <Chart
        // stacked areas of several runs cannot be told apart
        title={plan.isStacked && runs.length > 1 ? `${plan.title} (${runs[0]})` : plan.title}
        lines={lines}
        data={data}
        range={axis.range}
        marks={findings}
        boundaries={axis.boundaries}
        isLog={settings.isLog && !plan.isStacked && plan.evaluated === undefined}
        yRange={yRange}
        onZoom={(next) => setQuery({ from: next?.from, to: next?.to })}
      />
      <ProblemNote problem={problem} />
    </div>
  );
};

interface Drawn {
  readonly lines: readonly ChartLine[];
  readonly data: Columns;
  readonly yRange?: readonly [number, number];
}

/** A little more than 0 to 1, so that points at either end are whole. */
const shareRange = [-0.03, 1.03] as const;

function useLines(
  plan: ChartPlan,
  runs: readonly string[],
  version: number,
  settings: CurveSettings,
  { from, to }: Axis,
  isSeen: boolean,
): Drawn & { problem: Problem | undefined } {
  const query = new URLSearchParams(runs.map((run) => ["run", run]));
  const evaluations = useAnswer<EvaluationsAnswer>(
    isSeen && plan.evaluated !== undefined ? `/evaluations?${query}` : undefined,
    version,
  );
  query.set("points", "400");
  for (const name of new Set(plan.isStacked ? [plan.grid!, ...plan.names] : plan.names)) query.append("name", name);
  if (from !== undefined) query.set("from", String(from));
  if (to !== undefined) query.set("to", String(to));
  const series = useAnswer<SeriesAnswer>(
    isSeen && plan.evaluated === undefined ? `/series?${query}` : undefined,
    version,
  );
  const drawn = useMemo((): Drawn => {
    if (plan.evaluated !== undefined) return evaluatedChart(plan, runs, evaluations.answer?.runs ?? []);
    const values = series.answer?.series ?? [];
    if (plan.isStacked) return stackedChart(plan, values);
    return { ...lineChart(plan, runs, values, settings), ...(plan.isShare && { yRange: shareRange }) };
  }, [plan, runs, evaluations.answer, series.answer, settings]);
  return { ...drawn, problem: evaluations.problem ?? series.problem };
}

function useSeen(place: { readonly current: HTMLElement | null }): boolean {
  const [isSeen, setSeen] = useState(false);
  useEffect(() => {
    const observer = new IntersectionObserver(([entry]) => entry.isIntersecting && setSeen(true), {
      rootMargin: "300px",
    });
    observer.observe(place.current!);
    return () => observer.disconnect();
  }, [place]);
  return isSeen;
}

const fewPoints = 12;

/** Evaluations are means over tasks, and there are few of them: points with their intervals, never smoothed. */
function evaluatedChart(
  plan: ChartPlan,
  runs: readonly string[],
  answered: readonly { readonly run: string; readonly evaluations: readonly Evaluation[] }[],
): Drawn {
  const of = plan.evaluated!;
  const known = answered.filter(({ run, evaluations }) => evaluations.length > 0 && runs.includes(run));
  const intervals = known.map(({ evaluations }) =>
    evaluations.flatMap(({ step, [of]: interval }) => (interval === undefined ? [] : [{ step, ...interval }])),
  );
  const lines = known.map(({ run }, i): ChartLine => {
    const colour = runs.length > 1 ? runs.indexOf(run) : 0;
    return { label: runs.length > 1 ? run : of, colour, hasPoints: true, bars: intervals[i] };
  });
  const data = align(
    intervals.map((points) => ({ steps: points.map(({ step }) => step), values: points.map(({ mean }) => mean) })),
  );
  if (plan.isShare) return { lines, data, yRange: shareRange };
  const ends = intervals.flat().flatMap(({ mean, low, high }) => [mean, low, high].filter((value) => value !== null));
  if (ends.length === 0) return { lines, data };
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  const space = 0.06 * (high - low) || 0.5;
  return { lines, data, yRange: [low - space, high + space] };
}

/** One colour per run when there are several, else per metric. The second metric of several runs is dashed. */
function lineChart(plan: ChartPlan, runs: readonly string[], series: readonly Series[], settings: CurveSettings) {
  const isMany = runs.length > 1;
  const lines: ChartLine[] = [];
  const columns: Pick<Series, "steps" | "values">[] = [];
  // until the next answer, series of a run that was removed are still there
  const known = series.filter(({ run, steps }) => steps.length > 0 && runs.includes(run));
  for (const { run, name, steps, values } of known) {
    const at = plan.names.indexOf(name);
    const metric = plan.names.length > 1 ? (name.split("/").at(-1) ?? name) : "";
    const label = isMany ? `${run} ${metric}`.trim() : metric || name;
    const colour = isMany ? runs.indexOf(run) : plan.colour + at;
    const shown = values.map((value) => (settings.isLog && value !== null && value <= 0 ? null : value));
    const line = { label, colour, isDashed: isMany && at > 0, hasPoints: steps.length <= fewPoints };
    const { smoothing } = settings;
    if (smoothing > 0 && steps.length > 2) {
      lines.push({ ...line, label: `${label} raw`, isFaint: true });
      columns.push({ steps, values: shown });
    }
    lines.push(line);
    columns.push({ steps, values: smooth(shown, smoothing) });
  }
  return { lines, data: align(columns) };
}

/** Of the first run only. The topmost area is drawn first, the others over it. */
function stackedChart(plan: ChartPlan, series: readonly Series[]): { lines: ChartLine[]; data: Columns } {
  const own = series.filter(({ run }) => run === series[0]?.run);
  const grid = own.find(({ name }) => name === plan.grid);
  const parts = plan.names.flatMap((name) => own.filter((each) => each.name === name && each.steps.length > 0));
  if (grid === undefined || grid.steps.length === 0) return { lines: [], data: [[]] };
  const areas = stacked(onGrid(grid, parts));
  const lines = parts.map(({ name }, i): ChartLine => {
    return {
      label: name.slice(plan.prefix.length),
      colour: i,
      isFilled: true,
      hasPoints: grid.steps.length <= fewPoints,
    };
  });
  return { lines: lines.reverse(), data: [[...grid.steps], ...areas.reverse()] };
}
