import type UPlot from "uplot";
import type { ChartLine, ChartProps } from "./chart.tsx";
import { clustersIn, drawBars, drawBoundaries, drawClusters, seriesColour } from "./chart-drawing.ts";
import type { Cluster } from "./clusters.ts";
import { short } from "./numbers.ts";
import { colour } from "./theme.ts";

export const chartHeight = 176;

export interface Latest {
  readonly current: Pick<ChartProps, "marks" | "boundaries" | "onZoom" | "lines">;
}

interface OptionsInput {
  readonly lines: readonly ChartLine[];
  readonly isLog: boolean;
  readonly yRange: ChartProps["yRange"];
  readonly width: number;
  /** What may change without a new plot. */
  readonly latest: Latest;
  readonly onCursor: (at: number | null, cluster: Cluster | undefined) => void;
}

const near = 12;

export function chartOptions({ lines, isLog, yRange, width, latest, onCursor }: OptionsInput): UPlot.Options {
  const axis = { stroke: colour("muted"), grid: { stroke: colour("line"), width: 1 }, ticks: { show: false } };
  const font = "11px system-ui, sans-serif";
  const isStacked = lines.some(({ isFilled }) => isFilled);
  const range = isLog
    ? {}
    : isStacked
      ? { range: fromZero }
      : yRange === undefined
        ? {}
        : { range: [...yRange] as [number, number] };
  let clusters: readonly Cluster[] = [];
  return {
    width,
    height: chartHeight,
    legend: { show: false },
    padding: [12, 12, 0, 0],
    scales: { x: { time: false }, y: { distr: isLog ? 3 : 1, ...range } },
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
      setCursor: [
        (plot) => {
          const { left = -1, idx } = plot.cursor;
          const cluster = left < 0 ? undefined : clusters.find(({ x }) => Math.abs(x - left) < near);
          onCursor(idx ?? null, cluster);
        },
      ],
      setSelect: [(plot) => select(plot, latest)],
      draw: [
        (plot) => {
          const { boundaries = [], marks = [], lines: drawn } = latest.current;
          drawBoundaries(plot, boundaries);
          drawBars(plot, drawn);
          clusters = clustersIn(plot, marks);
          drawClusters(plot, clusters);
        },
      ],
    },
  };
}

function select(plot: UPlot, latest: Latest): void {
  const [left, right] = [plot.select.left, plot.select.left + plot.select.width];
  const [from, to] = [Math.floor(plot.posToVal(left, "x")), Math.ceil(plot.posToVal(right, "x"))];
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  if (plot.select.width >= 0 && to > from) latest.current.onZoom?.({ from: Math.max(0, from), to });
}

function unzoom({ current: { onZoom } }: Latest): null {
  onZoom?.(undefined);
  return null;
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

function seriesOf(line: ChartLine): UPlot.Series {
  const stroke = seriesColour(line);
  const size = line.bars === undefined ? 4 : 7;
  return {
    label: line.label,
    spanGaps: true,
    points: line.hasPoints && !line.isFaint ? { show: true, size, fill: stroke } : { show: false },
    stroke: line.isFaint ? blend(stroke, colour("card"), 0.3) : stroke,
    width: line.isFaint ? 1 : line.bars === undefined ? 1.75 : 1,
    ...(line.isDashed ? { dash: [5, 4] } : {}),
    ...(line.isFilled ? { fill: blend(stroke, colour("card"), 0.45), width: 1 } : {}),
  };
}
