import { defined } from "../defined.ts";
import { type EvalReport, type Interval, pairedDifference } from "../eval/index.ts";
import { evalReportFromJson } from "../eval/stored-report.ts";
import { metric } from "../monitor/index.ts";
import { nearest } from "../nearest.ts";
import type { RunCatalog, RunReader } from "../store/index.ts";
import { withRun } from "./opened-run.ts";
import { usageError } from "./parse-options.ts";

export interface RunComparison {
  readonly runs: readonly [string, string];
  /** Fields of the configurations that are not the same; absent in one is undefined. */
  readonly config: readonly { readonly path: string; readonly values: readonly [unknown, unknown] }[];
  readonly metrics: readonly ComparedMetric[];
  readonly eval?: {
    readonly success: readonly [Interval, Interval];
    readonly difference: Interval;
    /** Whether the same tasks were measured, and the difference is that of each task with itself. */
    readonly isPaired: boolean;
  };
}

export interface ComparedMetric {
  readonly name: string;
  readonly curves: readonly [readonly number[], readonly number[]];
  /** Means over the last tenth of each curve. */
  readonly final: readonly [number | undefined, number | undefined];
}

const usual = [
  ...[metric.reward, metric.success, metric.evalSuccess, metric.turns, metric.sampledTokens, metric.entropy],
  ...[metric.rewardStd, metric.uniform, metric.klReference, metric.klOldNew, metric.loss, metric.gradientNorm],
];
const curvePoints = 400;

/** Two runs side by side: the metrics that were asked for, or the usual ones. */
export async function compareRuns(
  runs: RunCatalog,
  ids: readonly [string, string],
  names: readonly string[] | undefined,
): Promise<RunComparison> {
  return withRun(runs, ids[0], (first) =>
    withRun(runs, ids[1], (second) => compared(ids, [first.reader, second.reader], names)),
  );
}

async function compared(
  runs: readonly [string, string],
  [a, b]: readonly [RunReader, RunReader],
  names: readonly string[] | undefined,
): Promise<RunComparison> {
  const known = [...new Set([...(await a.metricNames()), ...(await b.metricNames())])];
  for (const name of names ?? []) if (!known.includes(name)) throw unknownMetric(name, known);
  const metrics: ComparedMetric[] = [];
  for (const name of names ?? usual.filter((name) => known.includes(name))) {
    const curves = [await curve(a, name), await curve(b, name)] as const;
    metrics.push({ name, curves, final: [finalOf(curves[0]), finalOf(curves[1])] });
  }
  const config = differences(await a.config(), await b.config());
  const [before, after] = [await lastReport(a), await lastReport(b)];
  const isMeasured = before !== undefined && after !== undefined;
  return {
    runs,
    metrics,
    config,
    ...defined({
      eval: isMeasured
        ? {
            success: [before.success, after.success] as const,
            ...difference(before, after, !config.some(({ path }) => path.startsWith("env."))),
          }
        : undefined,
    }),
  };
}

async function curve(reader: RunReader, name: string): Promise<number[]> {
  return (await reader.series(name, { maxPoints: curvePoints })).map(({ value }) => value);
}

function finalOf(curve: readonly number[]): number | undefined {
  const last = curve.slice(-Math.max(1, Math.round(curve.length / 10)));
  return last.length === 0 ? undefined : last.reduce((a, b) => a + b, 0) / last.length;
}

/** The stored report of the last evaluation. */
async function lastReport(reader: RunReader): Promise<EvalReport | undefined> {
  const last = (await reader.series(metric.evalSuccess)).at(-1);
  if (last === undefined) return undefined;
  for (const when of [`step-${last.step}`, "after", "before"]) {
    const stored = await reader.state(`eval/${when}`);
    const report = stored === undefined ? undefined : evalReportFromJson(stored);
    // a run that was resumed after its end may have gone on since
    if (report?.success.mean === last.value) return report;
  }
  return undefined;
}

function differences(first: unknown, second: unknown): RunComparison["config"] {
  const [a, b] = [new Map(leaves(first, "")), new Map(leaves(second, ""))];
  const paths = [...new Set([...a.keys(), ...b.keys()])];
  return paths
    .filter((path) => JSON.stringify(a.get(path)) !== JSON.stringify(b.get(path)))
    .map((path) => ({ path, values: [a.get(path), b.get(path)] }));
}

function leaves(value: unknown, path: string): [string, unknown][] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [[path, value]];
  return Object.entries(value).flatMap(([name, inner]) => {
    // said again elsewhere in the configuration
    if (path === "" && ["identity", "run", "configVersion"].includes(name)) return [];
    return leaves(inner, path === "" ? name : `${path}.${name}`);
  });
}

function unknownMetric(name: string, known: readonly string[]) {
  const meant = nearest(name, known) ?? known.find((other) => other.endsWith(`/${name}`));
  return usageError("unknown-metric", {
    got: `"${name}"`,
    expected: `one of ${known.join(", ")}`,
    ...defined({ hint: meant !== undefined ? `Did you mean "${meant}"?` : undefined }),
  });
}

/** Task by task where both were measured on the same ones. */
function difference(a: EvalReport, b: EvalReport, isSameEnv: boolean): { difference: Interval; isPaired: boolean } {
  const tasks = Object.keys(a.successByTask);
  const isPaired =
    isSameEnv &&
    a.split === b.split &&
    tasks.length > 0 &&
    tasks.length === Object.keys(b.successByTask).length &&
    tasks.every((task) => b.successByTask[task] !== undefined);
  if (!isPaired) return { difference: differenceInterval(a.success, b.success), isPaired };
  const [a_P, b_P] = [a, b].map(({ successByTask }) => tasks.map((task) => successByTask[task]));
  return { difference: pairedDifference(a_P, b_P), isPaired };
}

/**
 * 95 % for the difference b - a of two independent figures with 95 % intervals (Newcombe's method 10 where those are Wilson's;
 * MOVER in general). Two policies measured on the same tasks differ by less chance than this allows for.
 */
export function differenceInterval(a: Interval, b: Interval): Interval {
  const mean = b.mean - a.mean;
  return {
    mean,
    low: mean - Math.hypot(b.mean - b.low, a.high - a.mean),
    high: mean + Math.hypot(b.high - b.mean, a.mean - a.low),
  };
}
