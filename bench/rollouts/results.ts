import type { AboutRun } from "../about-run.ts";
import type { EnvSteps } from "./env-steps.ts";
import { type Held, isHeld } from "./held.ts";
import type { StepOverhead } from "./step-overhead.ts";
import type { TurnOverhead } from "./turn-overhead.ts";

/** What bench/results/rollouts.json holds. */
export interface RolloutResults {
  about: AboutRun;
  versions: Record<string, string>;
  /** Cores that other processes kept busy meanwhile. */
  coresOfOthers: number;
  summary: RolloutSummary;
  held: Held[];
  turnOverhead: TurnOverhead[];
  /** Absent in records from before it was measured. */
  stepOverhead?: StepOverhead;
  envSteps: EnvSteps[];
}

export interface RolloutSummary {
  /** The most rollouts that were held with a tool of one second. */
  held: number;
  /** With 2,000 of them. */
  p99_ms: number;
  /** Of a turn that calls a tool, with the compact renderer. */
  turn_overhead_us: number;
  /** Processor time of a turn in a step of training, over that of the same turn by hand. */
  step_vs_by_hand?: number;
  steps_per_s: Record<string, number>;
}

export function summarise(
  held: readonly Held[],
  turnOverhead: readonly TurnOverhead[],
  envSteps: readonly EnvSteps[],
  stepOverhead: StepOverhead,
): RolloutSummary {
  const round = (value: number, digits: number) => Number(value.toFixed(digits));
  const overhead = turnOverhead.find(({ name }) => name === "tool call, compact renderer")!;
  return {
    held: Math.max(0, ...held.filter(isHeld).map(({ rollouts }) => rollouts)),
    p99_ms: round(held.find(({ rollouts }) => rollouts === 2000)!.p99Ms, 1),
    turn_overhead_us: round(overhead.microseconds, 1),
    step_vs_by_hand: round(stepOverhead.ratio, 2),
    steps_per_s: Object.fromEntries(envSteps.map(({ name, stepsPerSecond }) => [name, Math.round(stepsPerSecond)])),
  };
}
