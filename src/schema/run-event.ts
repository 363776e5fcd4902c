import type { Failure } from "./failure.ts";

/** What a run reports as it goes. Time and order are the store's. */
export type RunEvent =
  | { readonly type: "run-start"; readonly name: string; readonly resumedAtStep?: number }
  | {
      readonly type: "phase-start";
      readonly phase: string;
      readonly steps: number;
      /** Of a resumed run: steps of the phase that were done before. */
      readonly doneSteps?: number;
    }
  | { readonly type: "step-end"; readonly step: number; readonly metrics: Readonly<Record<string, number>> }
  | { readonly type: "eval-end"; readonly step: number; readonly metrics: Readonly<Record<string, number>> }
  | { readonly type: "checkpoint-saved"; readonly step: number; readonly directory: string }
  /** Attempts of a step, an evaluation or a warm start that failed with one text; `attempts` is how many there were in all. */
  | ({ readonly type: "failure"; readonly step: number; readonly attempts: number } & Failure)
  | { readonly type: "finding"; readonly step: number; readonly code: string; readonly message: string }
  | { readonly type: "warning"; readonly message: string }
  | {
      readonly type: "run-end";
      readonly reason: RunEndReason;
      /** Of a run that failed: the error. */
      readonly message?: string;
    };

export type RunEndReason = "finished" | "stopped" | "time-budget" | "token-budget" | "early-stop" | "doctor" | "failed";
