import type { RunReader, StepRange } from "../store/index.ts";
import { storedMetrics } from "./stored-metrics.ts";

/** Lines of a table: a step, then each metric; empty where a step lacks one. */
export async function* metricsCsv(reader: RunReader, range: StepRange): AsyncGenerator<string> {
  const names = await reader.metricNames();
  yield `${["step", ...names].map(quoted).join(",")}\n`;
  for await (const { step, values } of storedMetrics(reader, names, range)) {
    yield `${[step, ...values.map((value) => value ?? "")].join(",")}\n`;
  }
}

function quoted(text: string): string {
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
