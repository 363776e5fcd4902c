import { wallClock } from "../clock.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { jsonLine } from "../schema/json-lines.ts";
import { jsonReal } from "../schema/json-real.ts";
import type { RunEvent } from "../schema/run-event.ts";
import { openAppendFile } from "./append-file.ts";
import type { Monitor } from "./monitor.ts";

export interface JsonlMonitorOptions {
  /** Appended to, so that a resumed run continues its file. */
  file: string;
  /** Milliseconds since 1970, for `time`. */
  now?: () => number;
}

const knownJsonlMonitorOptions: KnownOptions<JsonlMonitorOptions> = { file: true, now: true };

/** Writes every event as a line of JSON at once. Numbers that JSON cannot express become strings, such as "NaN". */
export function jsonlMonitor(options: JsonlMonitorOptions): Monitor {
  refuseUnknownOptions("jsonlMonitor", options, knownJsonlMonitorOptions);
  const { file, now = wholeMilliseconds } = options;
  const output = openAppendFile(file);
  return {
    name: "jsonl",
    record: (event) => output.append(jsonLine({ time: now(), ...readable(event) })),
    close: () => output.close(),
  };
}

function readable(event: RunEvent): object {
  if (!("metrics" in event)) return event;
  const metrics = Object.entries(event.metrics).map(([name, value]) => [name, jsonReal(value)]);
  return { ...event, metrics: Object.fromEntries(metrics) };
}

const wholeMilliseconds = () => Math.round(wallClock());
