import { useMemo } from "react";
import type { RunSpan } from "../../src/server/dashboard/answers.ts";
import type { Boundary, Zoom } from "./chart.tsx";
import { setQuery, usePlace } from "./router.tsx";

export interface CurveSettings {
  readonly smoothing: number;
  readonly isLog: boolean;
  /** Steps of the warm start are shown too. */
  readonly isWhole: boolean;
  readonly zoom?: Zoom | undefined;
}

export function useCurveSettings(): CurveSettings {
  const { query } = usePlace();
  const [from, to, smoothing, log, phase] = ["from", "to", "smooth", "log", "phase"].map((name) => query.get(name));
  return useMemo(
    () => ({
      smoothing: smoothingOf(smoothing),
      isLog: log === "true",
      isWhole: phase === "all",
      zoom: zoomOf(from, to),
    }),
    [from, to, smoothing, log, phase],
  );
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

/** The axis that all charts share. */
export interface Axis {
  /** What is asked for and shown; `to` is open where it grows with the run. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly range?: Zoom | undefined;
  readonly boundaries: readonly Boundary[];
  /** Whether a warm start could be shown or left out. */
  readonly hasPhases: boolean;
}

/**
 * One axis for all charts of all runs. A warm start has many more steps than learning, and few of the metrics: unless they are
 * asked for, its steps are left out but for the last, after which the first evaluation is.
 */
export function axisOf(spans: readonly RunSpan[], { zoom, isWhole }: CurveSettings): Axis {
  const boundaries = boundariesOf(spans);
  const last = Math.max(0, ...spans.map(({ steps }) => steps - 1));
  const learning = spans.filter(({ steps, warmStart }) => steps > (warmStart?.steps ?? 0));
  const starts = learning.map(({ warmStart }) => Math.max(0, (warmStart?.steps ?? 0) - 1));
  const start = starts.length === 0 ? 0 : Math.min(...starts);
  const common = { boundaries, hasPhases: start > 0 };
  if (zoom !== undefined) {
    const to = Math.max(zoom.from, zoom.to);
    // a zoom without an end goes as far as the runs do
    const end = spans.length > 0 && to > last ? Math.max(zoom.from, last) : to;
    return { ...common, from: zoom.from, to, range: { from: zoom.from, to: end } };
  }
  if (spans.length === 0) return common;
  const from = isWhole ? 0 : start;
  return { ...common, from: from > 0 ? from : undefined, range: { from, to: last } };
}

function boundariesOf(spans: readonly RunSpan[]): readonly Boundary[] {
  const starts = new Map<number, string>();
  for (const { warmStart } of spans) if (warmStart !== undefined) starts.set(warmStart.steps, warmStart.name);
  return [...starts].map(([step, before]) => ({ step, before, after: "learning" }));
}

interface ToolsProps {
  readonly settings: CurveSettings;
  readonly axis: Axis;
}

export const CurveTools = ({ settings: { smoothing, isLog, isWhole, zoom }, axis }: ToolsProps) => (
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
    {axis.hasPhases && (
      <label>
        <input
          type="checkbox"
          checked={isWhole}
          onChange={(event) =>
            setQuery({ phase: event.target.checked ? "all" : undefined, from: undefined, to: undefined })
          }
        />
        Show the warm start
      </label>
    )}
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
