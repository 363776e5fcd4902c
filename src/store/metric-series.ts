import { LudusError } from "../errors.ts";
import { formerMetricNames } from "../schema/metric-names.ts";
import { mean } from "../statistics.ts";
import type { MetricPoint, RunReader, SeriesOptions } from "./store.ts";

type MetricSource = Pick<RunReader, "metricNames" | "series">;

/** Metrics as a run stored them, under the names they have today; a question for an older name is answered too. */
export function currentMetrics(stored: MetricSource, former = formerMetricNames): MetricSource {
  const current = new Map(Object.entries(former).flatMap(([name, older]) => older.map((old) => [old, name] as const)));
  const today = (name: string) => current.get(name) ?? name;
  return {
    async metricNames() {
      return [...new Set((await stored.metricNames()).map(today))].sort();
    },
    async series(name, options = {}) {
      const names = [today(name), ...(former[today(name)] ?? [])];
      if (names.length === 1) return stored.series(name, options);
      const known = new Set(await stored.metricNames());
      const present = names.filter((each) => known.has(each));
      if (present.length < 2) return stored.series(present[0] ?? name, options);
      return merged(stored, present, options);
    },
  };
}

async function merged(stored: MetricSource, names: readonly string[], options: SeriesOptions): Promise<MetricPoint[]> {
  const { maxPoints, ...range } = options;
  const points = new Map<number, MetricPoint>();
  for (const name of names) {
    for (const point of await stored.series(name, range)) {
      if (!points.has(point.step)) points.set(point.step, point);
    }
  }
  return joinedPoints(
    [...points.values()].sort((a, b) => a.step - b.step),
    maxPoints,
  );
}

/** How many steps are joined into one point, so that no more than `maxPoints` are left. */
export function joinedWidth(
  { count, first, last }: { count: number; first: number; last: number },
  maxPoints = Number.POSITIVE_INFINITY,
): number {
  if (!(maxPoints >= 1)) throw new LudusError("bad-series", { got: `maxPoints ${maxPoints}`, expected: "1 or more" });
  return count <= maxPoints ? 1 : Math.ceil((last - first + 1) / Math.floor(maxPoints));
}

/** Joins points of one step each, which are in order. */
export function joinedPoints(points: readonly MetricPoint[], maxPoints?: number): MetricPoint[] {
  const [first, last] = [points[0]?.step ?? 0, points.at(-1)?.step ?? 0];
  const width = joinedWidth({ count: points.length, first, last }, maxPoints);
  if (width === 1) return [...points];
  const parts = Map.groupBy(points, ({ step }) => Math.floor((step - first) / width));
  return [...parts.values()].map((part) => {
    const numbers = part.map(({ value }) => value).filter((value) => !Number.isNaN(value));
    const isEmpty = numbers.length === 0;
    return {
      step: part.at(-1)!.step, // a part has one point at least
      value: numbers.length < part.length ? Number.NaN : mean(numbers),
      min: isEmpty ? Number.NaN : numbers.reduce((a, b) => Math.min(a, b)),
      max: isEmpty ? Number.NaN : numbers.reduce((a, b) => Math.max(a, b)),
      count: part.length,
    };
  });
}
