import { LudusError } from "../errors.ts";

export interface Holder {
  readonly pid: number;
  readonly host: string;
  /** Milliseconds since 1970. */
  readonly since: number;
}

export function holderText({ pid, host, since }: Holder): string {
  return `process ${pid} on ${host} (since ${new Date(since).toISOString()})`;
}

/** A second writer is told who the first is. */
export function lockedError(run: string, holder: string, cause?: unknown): LudusError {
  return new LudusError("store-locked", {
    got: `a second writer for ${run}, which ${holder} is writing`,
    expected: "one writer",
    hint: "Stop that process first; to look at the run meanwhile, open it for reading: `runs.open(id)`, or `openRun(directory, { readOnly: true })`.",
    cause,
  });
}
