import type { AboutRun } from "../about-run.ts";

/** One run of one of the two programs. */
export interface QuickstartRun {
  program: "now" | "earlier";
  commit: string;
  seed: number;
  date: string;
  threads: number;
  /** Held-out success after imitation, and after reinforcement learning. */
  before: number;
  after: number;
  /** Absent where a run was made for its success alone. */
  seconds?: number;
  processorSeconds?: number;
  /** Cores that other processes kept busy meanwhile. */
  coresOfOthers?: number;
}

export interface QuickstartResults {
  about: Pick<AboutRun, "command" | "processor" | "cores" | "memoryBytes" | "system">;
  runs: readonly QuickstartRun[];
}
