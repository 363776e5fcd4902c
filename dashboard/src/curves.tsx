import { useEffect, useMemo, useRef, useState } from "react";
import type { Series, SeriesAnswer, ShownFinding } from "../../src/server/dashboard/answers.ts";
import { useAnswer } from "./api.ts";
import { Chart, type ChartLine, type Zoom } from "./chart.tsx";
import { align, type Columns, onGrid, smooth, stacked } from "./lines.ts";
import { ProblemNote } from "./pieces.tsx";
import { type ChartPlan, planCharts } from "./plan-charts.ts";
import { setQuery, usePlace } from "./router.tsx";

export interface CurveSettings {
  readonly smoothing: number;
  readonly isLog: boolean;
  readonly zoom?: Zoom | undefined;
}

interface CurvesProps {
  readonly runs: readonly string[];
  readonly metricNames: readonly string[];
  readonly findings: readonly ShownFinding[];
  readonly version: number;
}

export function useCurveSettings(): CurveSettings {
  const { query } = usePlace();
  const [from, to, smoothing, log] = ["from", "to", "smooth", "log"].map((name) => query.get(name));
  return useMemo(() => {
    return { smoothing: smoothingOf(smoothing), isLog: log === "true", zoom: zoomOf(from, to) };
  }, [from, to, smoothing, log]);
}

function smoothingOf(text: string | null): number {
  const value = Number(text ?? Number.NaN);
  return Number.isFinite(value) ? Math.min(0.98, Math.max(0, value)) : 0.6;
}

function zoomOf(from: string | null, to: string | null): Zoom | undefined {
  if (from === null || to === null) return undefined;
  const zoom = { from: Number(from), to: Number(to) };
  return Number.isFinite(zoom.from) && Number.isFinite(zoom.to) ? zoom : undefined;
}

/** All charts of one run, or of several runs overlaid. */
export const Curves = ({ runs, metricNames, findings, version }: CurvesProps) => {
  const settings = useCurveSettings();
  const { sections, others } = useMemo(() => planCharts(metricNames), [metricNames]);
  const [search, setSearch] = useState("");
  const shared = { runs, findings, version, settings };
  const found = others.filter(({ title }) => title.includes(search));
  return (
    <>
      <CurveTools settings={settings} />
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

const CurveTools = ({ settings: { smoothing, isLog, zoom } }: { settings: CurveSettings }) => (
  <div className="tools">
    <label>
      Smoothing
      <input
        type="range"
        min="0"
        max="0.98"
        step="0.02"
        value={smoothing}
        onChange={(event) => setQuery({ smooth: event.target.value })}
      />
      <output>{smoothing.toFixed(2)}</output>
    </label>
    <label>
      <input
        type="checkbox"
        checked={isLog}
        onChange={(event) => setQuery({ log: event.target.checked ? "true" : undefined })}
      />
      Log scale
    </label>
    <ZoomTools zoom={zoom} />
  </div>
);

const ZoomTools = ({ zoom }: { zoom: Zoom | undefined }) => {
  const change = (name: "from" | "to", text: string) => {
    const other = name === "from" ? { to: zoom?.to ?? 1_000_000 } : { from: zoom?.from ?? 0 };
    setQuery(text === "" ? { from: undefined, to: undefined } : { ...other, [name]: text });
  };
  return (
    <span className="zoom">
      <label>
        Steps
        <input
          type="number"
          min="0"
          aria-label="From step"
          placeholder="first"
          value={zoom?.from ?? ""}
          onChange={(event) => change("from", event.target.value)}
        />
      </label>
      –
      <input
        type="number"
        min="1"
        aria-label="To step"
        placeholder="last"
        value={zoom?.to ?? ""}
        onChange={(event) => change("to", event.target.value)}
      />
      <button type="button" disabled={zoom === undefined} onClick={() => setQuery({ from: undefined, to: undefined })}>
        Show all
      </button>
    </span>
  );
};

interface CardProps {
  readonly runs: readonly string[];
  readonly plan: ChartPlan;
  readonly findings: readonly ShownFinding[];
  readonly version: number;
  readonly settings: CurveSettings;
}

/** Loads its series once it scrolls into view. */
const ChartCard = ({ runs, plan, findings, version, settings }: CardProps) => {
  const place = useRef<HTMLDivElement>(null);
  const isSeen = useSeen(place);
  const { zoom } = settings;
  const query = new URLSearchParams({ points: "400" });
  for (const run of runs) query.append("run", run);
  for (const name of new Set(plan.isStacked ? [plan.grid!, ...plan.names] : plan.names)) query.append("name", name);
  if (zoom !== undefined) {
    query.set("from", String(zoom.from));
    query.set("to", String(Math.max(zoom.from, zoom.to)));
  }
  const { answer, problem } = useAnswer<SeriesAnswer>(isSeen ? `/series?${query}` : undefined, version);
  const { lines, data } = useMemo(
    () =>
      plan.isStacked ? stackedChart(plan, answer?.series ?? []) : lineChart(plan, runs, answer?.series ?? [], settings),
    [plan, runs, answer, settings],
  );
  return (
    <div ref={place} className="card">
      <Chart
        // stacked areas of several runs cannot be told apart
        title={plan.isStacked && runs.length > 1 ? `${plan.title} (${runs[0]})` : plan.title}
        lines={lines}
        data={data}
        zoom={zoom}
        marks={findings}
        isLog={settings.isLog && !plan.isStacked}
        onZoom={(next) => setQuery({ from: next?.from, to: next?.to })}
      />
      <ProblemNote problem={problem} />
    </div>
  );
};

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
    const line = { label, colour, isDashed: isMany && at > 0 };
    // an evaluation is a mean over tasks already, and there are few of them
    const smoothing = name.startsWith("eval/") ? 0 : settings.smoothing;
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
    return { label: name.slice(plan.prefix.length), colour: i, isFilled: true };
  });
  return { lines: lines.reverse(), data: [[...grid.steps], ...areas.reverse()] };
}
