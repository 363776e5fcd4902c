import type { AboutRun } from "../about-run.ts";
import type { EnvSteps } from "./env-steps.ts";
import { type Held, isHeld } from "./held.ts";
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
  envSteps: EnvSteps[];
}

export interface RolloutSummary {
  /** The most rollouts that were held with a tool of one second. */
  held: number;
  /** With 2,000 of them. */
  p99_ms: number;
  /** Of a turn that calls a tool, with the compact renderer. */
  turn_overhead_us: number;
  steps_per_s: Record<string, number>;
}

export function summarise(
  held: readonly Held[],
  turnOverhead: readonly TurnOverhead[],
  envSteps: readonly EnvSteps[],
): RolloutSummary {
  const round = (value: number, digits: number) => Number(value.toFixed(digits));
  const overhead = turnOverhead.find(({ name }) => name === "tool call, compact renderer")!;
  return {
    held: Math.max(0, ...held.filter(isHeld).map(({ rollouts }) => rollouts)),
    p99_ms: round(held.find(({ rollouts }) => rollouts === 2000)!.p99Ms, 1),
    turn_overhead_us: round(overhead.microseconds, 1),
    steps_per_s: Object.fromEntries(envSteps.map(({ name, stepsPerSecond }) => [name, Math.round(stepsPerSecond)])),
  };
}
