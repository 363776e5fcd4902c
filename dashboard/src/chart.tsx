import { useEffect, useRef, useState } from "react";
import UPlot from "uplot";
import type { ShownFinding } from "../../src/server/dashboard/answers.ts";
import type { Columns } from "./lines.ts";
import { short } from "./numbers.ts";
import { colour, useTheme } from "./theme.ts";

export interface ChartLine {
  readonly label: string;
  readonly colour: number;
  readonly isDashed?: boolean | undefined;
  /** Behind the others and not in the legend: the raw values of a smoothed line. */
  readonly isFaint?: boolean;
  readonly isFilled?: boolean;
}

export interface Zoom {
  readonly from: number;
  readonly to: number;
}

interface ChartProps {
  readonly title: string;
  readonly lines: readonly ChartLine[];
  readonly data: Columns;
  readonly isLog?: boolean;
  readonly marks?: readonly ShownFinding[];
  readonly zoom?: Zoom | undefined;
  readonly onZoom?: (zoom: Zoom | undefined) => void;
}

const height = 176;
const seriesColours = 8;

/** One plot. Drag to zoom, double-click to see all again; the legend shows the values under the cursor, else the last. */
export const Chart = ({ title, lines, data, isLog = false, marks = [], zoom, onZoom }: ChartProps) => {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot>(undefined);
  const latest = useRef({ data, marks, zoom, onZoom });
  latest.current = { data, marks, zoom, onZoom };
  const [at, setAt] = useState<number | null>(null);
  const theme = useTheme();
  const shape = JSON.stringify([lines, isLog, theme]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `shape` covers everything that uPlot cannot change in place
  useEffect(() => {
    const made = new UPlot(options(lines, isLog, latest, setAt, place.current!.clientWidth), [
      [],
      ...lines.map(() => []),
    ]);
    place.current!.append(made.root);
    plot.current = made;
    show(made, latest.current.data, latest.current.zoom);
    const observer = new ResizeObserver(([entry]) => made.setSize({ width: entry.contentRect.width, height }));
    observer.observe(place.current!);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [shape]);
  useEffect(() => {
    if (plot.current !== undefined) show(plot.current, data, zoom);
  }, [data, zoom]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: marks are drawn on the plot
  useEffect(() => {
    plot.current?.redraw(false);
  }, [marks]);

  const found = at === null ? [] : marks.filter(({ step }) => step === data[0][at]);
  return (
    <figure className="chart">
      <figcaption>
        <span className="title">{title}</span>
        <span className="step">{at === null ? "" : `step ${data[0][at] ?? ""}`}</span>
      </figcaption>
      <Legend lines={lines} data={data} at={at} />
      <div ref={place} className="plot" role="img" aria-label={describe(title, lines, data)} />
      {found.length > 0 && <div className="mark-note">{found.map(({ message }) => message).join(" ")}</div>}
    </figure>
  );
};

const Legend = ({ lines, data, at }: Pick<ChartProps, "lines" | "data"> & { at: number | null }) => (
  <div className={`legend${lines.filter(({ isFaint }) => !isFaint).length > 2 ? " tall" : ""}`}>
    {lines.map((line, i) => {
      if (line.isFaint) return null;
      const value = valueAt(lines, data, i, at);
      return (
        <span key={line.label} className={`key c${line.colour % seriesColours}${line.isDashed ? " dashed" : ""}`}>
          <i />
          <span className="label">{line.label}</span> <b>{short(value ?? undefined)}</b>
        </span>
      );
    })}
  </div>
);

/** At the cursor, else the last. For stacked areas: the height of the area itself. */
function valueAt(lines: readonly ChartLine[], data: Columns, i: number, at: number | null): number | null | undefined {
  const column = data[i + 1] ?? [];
  const place = at ?? column.findLastIndex((each) => each !== null);
  const value = column[place];
  const under = lines[i].isFilled ? data[i + 2]?.[place] : undefined;
  return value == null || under == null || value * under < 0 ? value : value - under;
}

function describe(title: string, lines: readonly ChartLine[], data: Columns): string {
  const values = lines.flatMap((line, i) => {
    const last = valueAt(lines, data, i, null);
    return line.isFaint || last === undefined ? [] : [`${line.label} ${short(last)}`];
  });
  return `${title}: ${values.join(", ") || "no data"}`;
}

function show(plot: UPlot, data: Columns, zoom: Zoom | undefined): void {
  plot.setData(data, false);
  const steps = data[0];
  const [min, max] = zoom === undefined ? [steps[0] ?? 0, steps.at(-1) ?? 1] : [zoom.from, zoom.to];
  plot.setScale("x", { min, max: max > min ? max : min + 1 });
}

interface Latest {
  readonly current: { readonly [Name in "marks" | "onZoom"]: ChartProps[Name] | undefined };
}

function options(
  lines: readonly ChartLine[],
  isLog: boolean,
  latest: Latest,
  setAt: (at: number | null) => void,
  width: number,
): UPlot.Options {
  const axis = { stroke: colour("muted"), grid: { stroke: colour("line"), width: 1 }, ticks: { show: false } };
  const font = "11px system-ui, sans-serif";
  return {
    width,
    height,
    legend: { show: false },
    padding: [8, 8, 0, 0],
    scales: {
      x: { time: false },
      y: { distr: isLog ? 3 : 1, ...(lines.some(({ isFilled }) => isFilled) ? { range: fromZero } : {}) },
    },
    axes: [
      {
        ...axis,
        font,
        size: 24,
        values: (_, splits) => splits.map((step) => (Number.isInteger(step) ? short(step) : "")),
      },
      { ...axis, font, size: 46, values: (_, splits) => splits.map((value) => (value === null ? "" : short(value))) },
    ],
    series: [{}, ...lines.map(seriesOf)],
    cursor: {
      drag: { x: true, y: false, setScale: false },
      points: { size: 5 },
      sync: { key: "steps", setSeries: false },
      bind: { dblclick: () => () => unzoom(latest) },
    },
    hooks: {
      setCursor: [(plot) => setAt(plot.cursor.idx ?? null)],
      setSelect: [
        (plot) => {
          const [left, right] = [plot.select.left, plot.select.left + plot.select.width];
          const [from, to] = [Math.floor(plot.posToVal(left, "x")), Math.ceil(plot.posToVal(right, "x"))];
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          if (plot.select.width >= 0 && to > from) latest.current.onZoom?.({ from: Math.max(0, from), to });
        },
      ],
      draw: [(plot) => drawMarks(plot, latest.current.marks ?? [])],
    },
  };
}

/** Stacked areas start at zero. */
function fromZero(_plot: UPlot, low: number, high: number): [number, number] {
  return [Math.min(0, low), Math.max(high, 0) || 1];
}

/** `share` of a colour on another, both as #rrggbb or #rgb: stacked areas must not be translucent. */
function blend(over: string, under: string, share: number): string {
  const [above, below] = [hexParts(over), hexParts(under)];
  return `rgb(${above.map((part, i) => Math.round(share * part + (1 - share) * below[i])).join(" ")})`;
}

function hexParts(hex: string): number[] {
  const digits = hex.length === 4 ? [...hex.slice(1)].map((digit) => digit + digit) : hex.match(/[\da-f]{2}/gi);
  return (digits ?? []).map((part) => Number.parseInt(part, 16));
}

function unzoom({ current: { onZoom } }: Latest): null {
  onZoom?.(undefined);
  return null;
}

function seriesOf(line: ChartLine): UPlot.Series {
  const stroke = colour(`series-${line.colour % seriesColours}`);
  return {
    label: line.label,
    spanGaps: true,
    points: { show: false },
    stroke: line.isFaint ? blend(stroke, colour("card"), 0.3) : stroke,
    width: line.isFaint ? 1 : 1.75,
    ...(line.isDashed ? { dash: [5, 4] } : {}),
    ...(line.isFilled ? { fill: blend(stroke, colour("card"), 0.45), width: 1 } : {}),
  };
}

/** A dashed line with a flag at each step that has findings. */
function drawMarks(plot: UPlot, marks: readonly ShownFinding[]): void {
  const { ctx: context, bbox } = plot;
  const { min = 0, max = 0 } = plot.scales.x ?? {};
  context.save();
  for (const { step, severity } of marks) {
    if (step < min || step > max) continue;
    const x = Math.round(plot.valToPos(step, "x", true)) + 0.5;
    context.strokeStyle = context.fillStyle = colour(
      severity === "error" ? "bad" : severity === "info" ? "muted" : "warn",
    );
    context.globalAlpha = 0.35;
    context.lineWidth = 1;
    context.setLineDash([3, 3]);
    context.beginPath();
    context.moveTo(x, bbox.top);
    context.lineTo(x, bbox.top + bbox.height);
    context.stroke();
    context.globalAlpha = 1;
    context.setLineDash([]);
    context.beginPath();
    context.moveTo(x - 5, bbox.top);
    context.lineTo(x + 5, bbox.top);
    context.lineTo(x, bbox.top + 8);
    context.fill();
  }
  context.restore();
}
