import { LudusError } from "../../errors.ts";

/** What one call may use. */
export interface IsolatedLimits {
  /** One call, from the moment a worker takes it; waiting for a worker is not counted. */
  timeoutMs: number;
  /** Starting a worker and importing the module. */
  startMs: number;
  /** The JavaScript heap of one worker. */
  heapMb: number;
  /** What one call prints, and what it returns when serialized: each on its own. */
  outputBytes: number;
}

export const defaultIsolatedLimits: Readonly<IsolatedLimits> = {
  timeoutMs: 5_000,
  startMs: 10_000,
  heapMb: 256,
  outputBytes: 1 << 20,
};

/** When a worker that behaved is replaced all the same, so that a slow leak never reaches the limit. */
export const retirement = { afterCalls: 1_000, heapShare: 0.7 } as const;

/** What one external command may use. Those below the blank line are rlimits, each per process, and set only when given. */
export interface ProcessLimits {
  timeoutMs: number;
  /** Of stdout and stderr together. */
  outputBytes: number;

  cpuSeconds?: number;
  addressSpaceMb?: number;
  fileMb?: number;
  processes?: number;
}

export const defaultProcessLimits: Readonly<ProcessLimits> = { timeoutMs: 10_000, outputBytes: 1 << 20 };

export interface JavaScriptTestLimits {
  /** One test, with the code loaded anew for it. */
  testMs: number;
  /** All tests together; those not reached by then count as timed out. */
  timeoutMs: number;
  heapMb: number;
  /** What the process prints and reports, in all. */
  outputBytes: number;
}

export const defaultJavaScriptTestLimits: Readonly<JavaScriptTestLimits> = {
  testMs: 1_000,
  timeoutMs: 20_000,
  heapMb: 128,
  outputBytes: 1 << 20,
};

// beyond it, a timer of Node fires at once
const maxLimit = 2 ** 31 - 1;

/** Returns the limits it was given. No limit may be left out by a number that means nothing. */
export function checkLimits<Limits extends object>(limits: Limits): Limits {
  for (const [name, value] of Object.entries(limits)) {
    if (typeof value === "number" && value > 0 && value <= maxLimit) continue;
    throw new LudusError("invalid-limit", { got: `${name} ${value}`, expected: `0 < ${name} <= ${maxLimit}` });
  }
  return limits;
}
