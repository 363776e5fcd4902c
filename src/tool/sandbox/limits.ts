import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import { nearest } from "../../nearest.ts";

/** What one call may use. */
export interface IsolatedLimits {
  /** One call, from the moment a worker takes it; waiting for a worker is not counted. */
  timeoutMs: number;
  /** Starting a worker and importing the module. */
  startMs: number;
  /** The JavaScript heap of one worker. */
  heapMb: number;
  /** What one call prints, and what it returns when serialized, its state included: each on its own. */
  outputBytes: number;
}

export const defaultIsolatedLimits: Readonly<IsolatedLimits> = {
  timeoutMs: 5_000,
  startMs: 10_000,
  heapMb: 256,
  outputBytes: 1 << 20,
};

/** How long a worker waits for its next call before it is ended: forty tools would hold eighty processes otherwise. */
export const defaultIdleMs = 30_000;

/** When a worker that behaved is replaced all the same, so that a slow leak never reaches the limit. */
export const retirement = { afterCalls: 1_000, heapShare: 0.7 } as const;

/**
 * What one command may use. Those below the blank line are set only when given; a sandbox that cannot set one says so in
 * `notApplied`.
 */
export interface CommandLimits {
  timeoutMs: number;
  /** Of stdout and stderr together. */
  outputBytes: number;

  /** Resident memory of the command and its children together; beyond it, it ends as `out-of-memory`. */
  memoryMb?: number;
  /** Each process on its own, as are the next two. */
  cpuSeconds?: number;
  addressSpaceMb?: number;
  fileMb?: number;
  processes?: number;
}

export const defaultCommandLimits: Readonly<CommandLimits> = { timeoutMs: 10_000, outputBytes: 1 << 20 };

/** What `Box.read` takes into memory; a box can hold files of any size. */
export const maxReadBytes = 64 << 20;

/** A limit that was asked for and could not be set, and why. */
export interface LimitNotApplied {
  limit: keyof CommandLimits;
  reason: string;
}

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

/** Returns the limits it was given. No limit may be left out by a number that means nothing, or by a name that nobody reads. */
export function checkLimits<Limits extends object>(
  limits: Limits,
  known: readonly string[] = Object.keys(limits),
): Limits {
  for (const [name, value] of Object.entries(limits)) {
    if (!known.includes(name)) throw unknownLimit(name, known);
    if (typeof value === "number" && value > 0 && value <= maxLimit) continue;
    throw new LudusError("invalid-limit", { got: `${name} ${value}`, expected: `0 < ${name} <= ${maxLimit}` });
  }
  return limits;
}

function unknownLimit(name: string, known: readonly string[]): LudusError {
  const meant = nearest(name, known);
  return new LudusError("unknown-limit", {
    got: `"${name}"`,
    expected: `one of ${known.join(", ")}`,
    ...defined({ hint: meant === undefined ? undefined : `Did you mean "${meant}"?` }),
  });
}

const commandLimitNames = Object.keys({
  timeoutMs: true,
  outputBytes: true,
  memoryMb: true,
  cpuSeconds: true,
  addressSpaceMb: true,
  fileMb: true,
  processes: true,
} satisfies Record<keyof CommandLimits, true>);

/** All limits of a command: those given, and the defaults. */
export function commandLimits(limits: Partial<CommandLimits> = {}): CommandLimits {
  return checkLimits({ ...defaultCommandLimits, ...limits }, commandLimitNames);
}
