import type { AboutRun } from "../../about-run.ts";

/** What grows, each measured and kept by itself. */
export const growthParts = ["turns", "rollouts", "history"] as const;
export type GrowthPart = (typeof growthParts)[number];

/** The same work with the KV cache that a rollout keeps, and with all of its history computed anew at every turn. */
export interface Reuse {
  seconds: number;
  /** Operations that all rollouts need together, in 1e9: over the machine's own matrix-product rate they are a limit. */
  gigaflop: number;
  /** Tokens run through the model that were not sampled, for one rollout. */
  prefilled: number;
}

export interface TurnsPoint {
  series: "same total" | "same per turn";
  turns: number;
  rollouts: number;
  /** Sampled by one rollout. */
  newTokens: number;
  reused: Reuse;
  anew: Reuse;
}

export interface HistoryPoint {
  history: number;
  rollouts: number;
  observed: number;
  newTokens: number;
  reused: Reuse;
  anew: Reuse;
}

export interface RolloutsPoint {
  engine: "none" | "embedded";
  rollouts: number;
  toolMs: number;
  turns: number;
  seconds: number;
  /** Of one rollout's tools, which wait side by side with those of others. */
  toolSeconds: number;
  /** Operations of the model for all rollouts together, in 1e9. */
  gigaflop: number;
  /** Processor time of the process for one turn of one rollout. */
  microsecondsPerTurn: number;
  disturbed: number;
}

/** A part as it was measured. */
export interface Measured<Point> {
  about: AboutRun;
  versions: { [name: string]: string };
  coresOfOthers: number;
  /** What the machine can do: the fastest matrix product of this run and of the part `model`. */
  machineGigaflops: number;
  points: Point[];
}

/** What bench/results/scaling.json holds under `growth`. */
export interface Growth {
  turns?: Measured<TurnsPoint>;
  rollouts?: Measured<RolloutsPoint>;
  history?: Measured<HistoryPoint>;
}
