import type { End } from "./sandbox.ts";

/** One line for a person, without a subject: "took longer than 100 ms". */
export function describeEnd(end: End): string {
  switch (end.kind) {
    case "exited":
      return `exited with ${end.signal ?? `code ${end.code}`}`;
    case "timeout":
      return `took longer than ${end.afterMs} ms`;
    case "out-of-memory":
      return `needed more than ${end.limitMb} MB of memory`;
    case "output-limit":
      return `printed or returned too much, ${end.bytes} bytes`;
    case "cancelled":
      return "was cancelled";
    case "not-started":
      return `could not be started: ${end.name}: ${end.message}`;
    default:
      return end satisfies never;
  }
}
