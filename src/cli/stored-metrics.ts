import type { RunReader, StepRange } from "../store/index.ts";

const stepsAtOnce = 2000;

export interface StepMetrics {
  readonly step: number;
  /** In the order of the names that were asked for; undefined where the step lacks one. */
  readonly values: readonly (number | undefined)[];
}

/** Steps that have any of the metrics, in order. Held in memory are so many at a time. */
export async function* storedMetrics(
  reader: RunReader,
  names: readonly string[],
  { from = 0, to }: StepRange,
): AsyncGenerator<StepMetrics> {
  const last = Math.min(to ?? Number.POSITIVE_INFINITY, (await reader.latestStep()) ?? -1);
  for (let start = from; start <= last; start += stepsAtOnce) {
    const range = { from: start, to: Math.min(last, start + stepsAtOnce - 1) };
    const rows = new Map<number, (number | undefined)[]>();
    for (const [column, name] of names.entries()) {
      for (const { step, value } of await reader.series(name, range)) {
        const row = rows.get(step) ?? new Array<undefined>(names.length).fill(undefined);
        row[column] = value;
        rows.set(step, row);
      }
    }
    for (const [step, values] of [...rows].sort(([a], [b]) => a - b)) yield { step, values };
  }
}
