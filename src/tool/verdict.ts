import { redact } from "../redact.ts";
import type { InfrastructureStop } from "../schema/stop-reason.ts";
import type { CallOutcome, CallPermission } from "../schema/turn.ts";
import { toObservation } from "./observation.ts";
import type { Ended } from "./run-within.ts";
import { describeEnd } from "./sandbox/describe-end.ts";
import { type ErrorData, toErrorData } from "./sandbox/error-data.ts";
import type { FunctionEnded } from "./sandbox/sandbox.ts";
import type { Tool } from "./tool.ts";

export type ToolStop = Extract<InfrastructureStop, "tool-timeout" | "tool-crash" | "cancelled">;

/** The end of an episode that is not the policy's doing. `failure` is for developers. */
export interface Stopped {
  readonly stop: ToolStop;
  readonly failure: string;
}

/** What a call means: something to tell the policy, or the end of the episode. */
export type Verdict = Told | Stopped;

export interface Told {
  readonly outcome: CallOutcome;
  readonly text: string;
  readonly permission?: CallPermission;
}

/** A tool's name, the rollout's signal and the call's time: what verdicts speak of. */
export interface CallFacts {
  readonly name: string;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/** Tells the policy what it did wrong. */
export function told(outcome: CallOutcome, problem: string): Told {
  return { outcome, text: problem.startsWith("Error:") ? problem : `Error: ${problem}` };
}

/** Of a function that ran in this thread. */
export function judgeEnd(ended: Ended, facts: CallFacts): Verdict {
  switch (ended.how) {
    case "returned":
      return judgeValue(ended.value, facts);
    case "threw":
      return isToolError(ended.error) ? told("error", ended.error.message) : crashed(ended.error, facts);
    case "timeout":
      return stopped("tool-timeout", facts, `it took longer than ${facts.timeoutMs} ms`);
    case "cancelled":
      return cancelled(facts);
    default:
      return ended satisfies never;
  }
}

/** Of a function that ran where it can be killed. */
export function judgeIsolated(run: FunctionEnded, facts: CallFacts, whenKilled: Tool["whenKilled"] = "stop"): Verdict {
  switch (run.kind) {
    case "returned":
      return judgeValue(run.value, facts);
    case "threw":
      if (run.name === "ToolError") return told("error", run.message);
      return stopped("tool-crash", facts, describeThrown(run), run.output);
    case "not-started":
      return stopped("tool-crash", facts, `its module cannot be used: ${describeThrown(run)}`, run.output);
    case "cancelled":
      return cancelled(facts);
    case "timeout":
    case "out-of-memory":
    case "exited":
    case "output-limit": {
      const why = `it ${describeEnd(run)}`;
      if (whenKilled === "observe") return told("error", `the call was ended: ${why}`);
      return stopped(run.kind === "timeout" ? "tool-timeout" : "tool-crash", facts, why, run.output);
    }
    default:
      return run satisfies never;
  }
}

function judgeValue(value: unknown, facts: CallFacts): Verdict {
  try {
    return { outcome: "ok", text: toObservation(value) };
  } catch (error) {
    return stopped("tool-crash", facts, `it returned what cannot be told: ${toErrorData(error).message}`);
  }
}

/** By name: it may come from another copy of this package. */
function isToolError(error: unknown): error is Error {
  return error instanceof Error && error.name === "ToolError";
}

export function cancelled(facts: CallFacts): Stopped {
  return stopped("cancelled", facts, `cancelled: ${toErrorData(facts.signal.reason).message}`);
}

export function crashed(thrown: unknown, facts: { readonly name: string }): Stopped {
  return stopped("tool-crash", facts, describeThrown(toErrorData(thrown), causeOf(thrown)));
}

const maxPrintedChars = 500;

function stopped(stop: ToolStop, { name }: { readonly name: string }, what: string, printed = ""): Stopped {
  const output = printed === "" ? "" : `\nIt printed: ${printed.slice(-maxPrintedChars)}`;
  return { stop, failure: redact(`tool "${name}": ${what}${output}`) };
}

const maxStackLines = 4;

function describeThrown({ name, message, stack = "" }: ErrorData, cause?: ErrorData): string {
  const frames = stack.split("\n").filter((line) => /^\s+at /.test(line));
  const because = cause === undefined ? "" : ` (because of ${cause.name}: ${cause.message})`;
  return [`${name}: ${message}${because}`, ...frames.slice(0, maxStackLines)].join("\n");
}

/** `fetch failed` alone says nothing. */
function causeOf(thrown: unknown): ErrorData | undefined {
  return thrown instanceof Error && thrown.cause !== undefined ? toErrorData(thrown.cause) : undefined;
}
