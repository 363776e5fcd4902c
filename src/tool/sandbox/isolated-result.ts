import type { ErrorData } from "./error-data.ts";

/** How a call ended. Only `load-failed` speaks of the developer's set-up; all others can be the work of the input. */
export type IsolatedResult =
  | { kind: "returned"; value: unknown }
  | ({ kind: "threw" } & ErrorData)
  | { kind: "timeout"; afterMs: number }
  | { kind: "out-of-memory"; heapMb: number }
  /** `process.exit`, or a signal, whose number is then added to 128. */
  | { kind: "exited"; code: number; signal?: string }
  /** It printed too much, or returned too much. */
  | { kind: "output-limit"; bytes: number }
  | { kind: "cancelled" }
  /** The module could not be imported, or does not export such a function. */
  | ({ kind: "load-failed" } & ErrorData);

/** A result, and what was printed by then, within the limit. */
export type IsolatedRun = IsolatedResult & { output: string };
