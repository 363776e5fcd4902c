import { tensorboardMonitor } from "../monitor/index.ts";
import type { RunReader, StepRange } from "../store/index.ts";
import { storedMetrics } from "./stored-metrics.ts";

/** Writes the metrics of a run as an event file into a folder, each step at the time it was kept. Returns how many steps. */
export async function metricsTensorboard(
  reader: RunReader,
  range: StepRange,
  directory: string,
  signal: AbortSignal,
): Promise<number> {
  const events = await reader.events({ types: ["run-start", "step-end", "eval-end"] });
  const times = new Map(events.map(({ step, time }) => [step, time]));
  const names = await reader.metricNames();
  let now = events[0]?.time ?? 0;
  const monitor = tensorboardMonitor({ directory, now: () => now });
  let count = 0;
  try {
    for await (const { step, values } of storedMetrics(reader, names, range)) {
      if (signal.aborted) break;
      now = times.get(step) ?? now;
      const present = names.flatMap((name, i) => (values[i] === undefined ? [] : [[name, values[i]] as const]));
      monitor.record({ type: "step-end", step, metrics: Object.fromEntries(present) });
      count++;
    }
  } finally {
    await monitor.close?.();
  }
  return count;
}
