import { closeSync, openSync, writeSync } from "node:fs";
import { jsonLine } from "../schema/json-lines.ts";
import { jsonReal } from "../schema/json-real.ts";
import type { RunEvent } from "../schema/run-event.ts";
import type { Monitor } from "./monitor.ts";

export interface JsonlMonitorOptions {
  /** Added to, where it is there. */
  file: string;
  /** Milliseconds since 1970, for `time`. */
  now?: () => number;
}

/** Writes every event as a line of JSON, as it comes. Numbers that JSON lacks become strings, such as "NaN". */
export function jsonlMonitor({ file, now = wallClock }: JsonlMonitorOptions): Monitor {
  const handle = openSync(file, "a");
  return {
    name: "jsonl",
    record: (event) => void writeSync(handle, jsonLine({ time: now(), ...readable(event) })),
    close: () => closeSync(handle),
  };
}

function readable(event: RunEvent): object {
  if (!("metrics" in event)) return event.type === "rollout-end" ? { ...event, reward: jsonReal(event.reward) } : event;
  const metrics = Object.entries(event.metrics).map(([name, value]) => [name, jsonReal(value)]);
  return { ...event, metrics: Object.fromEntries(metrics) };
}

const wallClock = () => Math.round(performance.timeOrigin + performance.now());
