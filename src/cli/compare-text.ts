import { sparkline } from "../monitor/sparkline.ts";
import type { Screen } from "./command.ts";
import type { ComparedMetric, RunComparison } from "./compare-runs.ts";
import { figure, interval } from "./number-text.ts";
import { harmless, type Paint, paintFor } from "./paint.ts";
import { textTable } from "./text-table.ts";

/** A comparison as text: evaluations, metrics, curves, configurations. */
export function compareText({ runs, config, metrics, eval: measured }: RunComparison, screen: Screen): string {
  const paint = paintFor(screen);
  const names = runs.map(harmless);
  const heads = (...cells: string[]) => cells.map((cell) => paint("bold", cell));
  const sections = [
    ...(measured === undefined ? [] : [evalText(measured, names, heads, paint)]),
    textTable([heads("last tenth", ...names, "difference"), ...metrics.map(metricRow)], [1, 2, 3]),
    curvesText(metrics, names, curveWidth(screen, names), paint),
    config.length === 0
      ? "The configurations are the same.\n"
      : textTable([
          heads("configuration", ...names),
          ...config.map(({ path, values }) => [path, ...values.map(shown)]),
        ]),
  ];
  return sections.join("\n");
}

function evalText(
  { success, difference, isPaired }: NonNullable<RunComparison["eval"]>,
  names: readonly string[],
  heads: (...cells: string[]) => string[],
  paint: Paint,
): string {
  const isClear = difference.low > 0 || difference.high < 0;
  const better = difference.mean > 0 ? names[1] : names[0];
  const verdict = isClear ? `${better} is better` : "no difference that chance could not make";
  return textTable([
    heads("held-out success (95 %)", ...names, isPaired ? "difference, task by task" : "difference"),
    ["last evaluation", ...success.map(interval), interval(difference), paint(isClear ? "green" : "dim", verdict)],
  ]);
}

function metricRow({ name, final: [a, b] }: ComparedMetric): string[] {
  const difference = a === undefined || b === undefined ? undefined : b - a;
  return [
    name,
    figure(a),
    figure(b),
    difference === undefined ? "-" : `${difference > 0 ? "+" : ""}${figure(difference)}`,
  ];
}

function curvesText(metrics: readonly ComparedMetric[], names: readonly string[], width: number, paint: Paint): string {
  return metrics
    .map(({ name, curves }) => {
      const rows = curves.map((curve, run) => {
        const finite = curve.filter(Number.isFinite);
        const range = finite.length === 0 ? "-" : `${figure(Math.min(...finite))} to ${figure(Math.max(...finite))}`;
        return [`  ${names[run]}`, sparkline(curve, width), range];
      });
      return `${paint("bold", name)}\n${textTable(rows)}`;
    })
    .join("");
}

function curveWidth({ columns = 80 }: Screen, names: readonly string[]): number {
  return Math.max(10, Math.min(60, columns - Math.max(...names.map((name) => name.length)) - 24));
}

function shown(value: unknown): string {
  if (value === undefined) return "-";
  const text = harmless(typeof value === "string" ? value : JSON.stringify(value)).replaceAll("\n", " ");
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}
