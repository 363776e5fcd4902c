import { useEffect, useRef, useState } from "react";
import UPlot from "uplot";
import type { ShownFinding } from "../../src/server/dashboard/answers.ts";
import { chartHeight, chartOptions } from "./chart-options.ts";
import type { Cluster } from "./clusters.ts";
import type { Columns } from "./lines.ts";
import { short } from "./numbers.ts";
import { useTheme } from "./theme.ts";

/** The interval of a point. */
export interface Bar {
  readonly step: number;
  readonly low: number | null;
  readonly high: number | null;
}

export interface ChartLine {
  readonly label: string;
  readonly colour: number;
  readonly isDashed?: boolean | undefined;
  /** Behind the others and not in the legend: the raw values of a smoothed line. */
  readonly isFaint?: boolean;
  readonly isFilled?: boolean;
  /** Few values: each is a point, as one alone has no line. */
  readonly hasPoints?: boolean;
  readonly bars?: readonly Bar[];
}

/** The first step after a warm start. */
export interface Boundary {
  readonly step: number;
  readonly before: string;
  readonly after: string;
}

export interface Zoom {
  readonly from: number;
  readonly to: number;
}

export interface ChartProps {
  readonly title: string;
  readonly lines: readonly ChartLine[];
  readonly data: Columns;
  readonly isLog?: boolean;
  /** By default what the values need. */
  readonly yRange?: readonly [low: number, high: number] | undefined;
  readonly marks?: readonly ShownFinding[];
  readonly boundaries?: readonly Boundary[];
  /** The steps that are shown; by default those of the data. */
  readonly range?: Zoom | undefined;
  readonly onZoom?: (zoom: Zoom | undefined) => void;
}

/** One plot. Drag to zoom, double-click to see all again; the legend shows the values under the cursor, else the last. */
export const Chart = (props: ChartProps) => {
  const { title, lines, data, isLog = false, yRange, marks, boundaries, range } = props;
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const [at, setAt] = useState<number | null>(null);
  const [cluster, setCluster] = useState<Cluster>();
  const theme = useTheme();
  const shape = JSON.stringify([lines.map(({ bars, ...line }) => [line, bars !== undefined]), isLog, yRange, theme]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `shape` covers everything that uPlot cannot change in place
  useEffect(() => {
    const onCursor = (index: number | null, pointed: Cluster | undefined) => {
      setAt(index);
      setCluster(pointed);
    };
    const width = place.current!.clientWidth;
    const made = new UPlot(chartOptions({ lines, isLog, yRange, width, latest, onCursor }), [
      [],
      ...lines.map(() => []),
    ]);
    place.current!.append(made.root);
    plot.current = made;
    show(made, latest.current.data, latest.current.range);
    const observer = new ResizeObserver(([entry]) =>
      made.setSize({ width: entry.contentRect.width, height: chartHeight }),
    );
    observer.observe(place.current!);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [shape]);
  const [from, to] = [range?.from, range?.to];
  // biome-ignore lint/correctness/useExhaustiveDependencies: `from` and `to` are the range
  useEffect(() => {
    if (plot.current !== undefined) show(plot.current, data, range);
  }, [data, from, to]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: marks and boundaries are drawn on the plot
  useEffect(() => {
    plot.current?.redraw(false);
  }, [marks, boundaries]);
  return (
    <figure className="chart">
      <figcaption>
        <span className="title">{title}</span>
        <span className="step">{at === null ? "" : `step ${data[0][at] ?? ""}`}</span>
      </figcaption>
      <Legend lines={lines} data={data} at={at} />
      <div ref={place} className="plot" role="img" aria-label={describe(title, lines, data)} />
      {cluster !== undefined && <ClusterNote cluster={cluster} />}
    </figure>
  );
};

const shownFindings = 5;

const ClusterNote = ({ cluster: { findings } }: { cluster: Cluster }) => (
  <ul className="mark-note">
    {findings.slice(0, shownFindings).map(({ code, since, message }) => (
      <li key={`${code} ${since} ${message}`}>
        <b>{code}</b> since step {since}: {message}
      </li>
    ))}
    {findings.length > shownFindings && <li>and {findings.length - shownFindings} more</li>}
  </ul>
);

const Legend = ({ lines, data, at }: Pick<ChartProps, "lines" | "data"> & { at: number | null }) => (
  <div className={`legend${lines.filter(({ isFaint }) => !isFaint).length > 2 ? " tall" : ""}`}>
    {lines.map((line, i) => {
      if (line.isFaint) return null;
      return (
        <span key={line.label} className={`key c${line.colour % 8}${line.isDashed ? " dashed" : ""}`}>
          <i />
          <span className="label">{line.label}</span> <b>{valueText(lines, data, i, at)}</b>
        </span>
      );
    })}
  </div>
);

/** The place of the value that is shown: at the cursor or before it, else the last. */
function placeOf(column: readonly (number | null)[], at: number | null): number {
  return column.findLastIndex((each, i) => each !== null && (at === null || i <= at));
}

/** For stacked areas: the height of the area itself. */
function valueAt(lines: readonly ChartLine[], data: Columns, i: number, at: number | null): number | null | undefined {
  const column = data[i + 1] ?? [];
  const place = placeOf(column, at);
  const value = column[place];
  const under = lines[i].isFilled ? data[i + 2]?.[place] : undefined;
  return value == null || under == null || value * under < 0 ? value : value - under;
}

function valueText(lines: readonly ChartLine[], data: Columns, i: number, at: number | null): string {
  const value = valueAt(lines, data, i, at);
  const step = data[0][placeOf(data[i + 1] ?? [], at)];
  const bar = lines[i].bars?.findLast((each) => each.step === step);
  const bounds = bar === undefined || bar.low === null ? "" : ` (${short(bar.low)} to ${short(bar.high)})`;
  return `${short(value ?? undefined)}${bounds}`;
}

function describe(title: string, lines: readonly ChartLine[], data: Columns): string {
  const values = lines.flatMap((line, i) => {
    const last = valueAt(lines, data, i, null);
    return line.isFaint || last === undefined ? [] : [`${line.label} ${valueText(lines, data, i, null)}`];
  });
  return `${title}: ${values.join(", ") || "no data"}`;
}

function show(plot: UPlot, data: Columns, range: Zoom | undefined): void {
  plot.setData(data, false);
  const steps = data[0];
  const [min, max] = range === undefined ? [steps[0] ?? 0, steps.at(-1) ?? 1] : [range.from, range.to];
  // room for points at either end; a single step is in the middle
  const space = Math.max(0.5, 0.015 * (max - min));
  plot.setScale("x", { min: min - space, max: Math.max(min, max) + space });
}
