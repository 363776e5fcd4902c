import type { EvalReport } from "../eval/index.ts";
import { failureLine } from "../schema/failure.ts";
import { figure, interval } from "./number-text.ts";
import { harmless, type Paint } from "./paint.ts";
import { textTable } from "./text-table.ts";

/** A report as JSON holds it: the rollouts are many and are left out. */
export function evalJson({ rollouts: _rollouts, ...report }: EvalReport): Omit<EvalReport, "rollouts"> {
  return report;
}

/** One column for each report. Success is that of tasks of the split, with a 95 % interval. */
export function evalTable(reports: Readonly<Record<string, EvalReport>>, paint: Paint): string {
  const columns = Object.values(reports);
  const [first] = columns;
  if (first === undefined) return "";
  const row = (name: string, cell: (report: EvalReport) => string) => [name, ...columns.map(cell)];
  const powers = Object.keys(first.passAtK).filter((k) => k !== "1");
  const stops = [...new Set(columns.flatMap((report) => Object.keys(report.stops)))];
  const attempts = first.attempts === 1 ? "" : `, ${first.attempts} attempts each`;
  const table = textTable([
    [`${first.tasks} tasks of ${first.split}${attempts}`, ...Object.keys(reports)].map((head) => paint("bold", head)),
    row("success (95 %)", ({ success }) => interval(success)),
    row("reward", ({ reward }) => interval(reward)),
    ...powers.map((k) => row(`pass@${k}`, ({ passAtK }) => interval(passAtK[Number(k)]))),
    ...powers.map((k) => row(`pass^${k}`, ({ passHatK }) => interval(passHatK[Number(k)]))),
    row("turns", ({ turns }) => figure(turns)),
    row("tokens said", ({ sampledTokens }) => figure(sampledTokens)),
    ...stops.map((stop) => row(`stop: ${stop}`, (report) => String(report.stops[stop] ?? 0))),
    ...(columns.some((column) => column.infrastructureFailures > 0)
      ? [row("infrastructure failures", (column) => String(column.infrastructureFailures))]
      : []),
  ]);
  return `${table}${failureLines(columns)}`;
}

const shownFailures = 5;

/** What failed through no fault of the policy, in all reports together. */
function failureLines(reports: readonly EvalReport[]): string {
  const failures = reports.flatMap((report) => report.failures).slice(0, shownFailures);
  return failures.map((failure) => `${harmless(failureLine(failure))}\n`).join("");
}
