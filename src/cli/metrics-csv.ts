import type { RunReader, StepRange } from "../store/index.ts";

const stepsAtOnce = 2000;

/** Lines of a table: a step, then each metric; empty where a step lacks one. Held in memory are so many steps at a time. */
export async function* metricsCsv(reader: RunReader, { from = 0, to }: StepRange): AsyncGenerator<string> {
  const names = await reader.metricNames();
  const last = Math.min(to ?? Number.POSITIVE_INFINITY, (await reader.latestStep()) ?? -1);
  yield `${["step", ...names].map(quoted).join(",")}\n`;
  for (let start = from; start <= last; start += stepsAtOnce) {
    const range = { from: start, to: Math.min(last, start + stepsAtOnce - 1) };
    const cells = new Map<number, string[]>();
    for (const [column, name] of names.entries()) {
      for (const { step, value } of await reader.series(name, range)) {
        const row = cells.get(step) ?? new Array<string>(names.length).fill("");
        row[column] = String(value);
        cells.set(step, row);
      }
    }
    for (const [step, row] of [...cells].sort(([a], [b]) => a - b)) yield `${[step, ...row].join(",")}\n`;
  }
}

function quoted(text: string): string {
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
