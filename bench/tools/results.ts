import type { AboutRun } from "../about-run.ts";

export interface ToolsRound {
  readonly turns: number;
  readonly batchSeconds: number;
  readonly trajectorySeconds: number;
}

/** What bench/results/tools.json holds. */
export interface ToolsResults {
  readonly about: AboutRun;
  readonly workload: Readonly<Record<string, number>>;
  readonly summary: { readonly trajectory_vs_batch_1turn: number; readonly trajectory_vs_batch_3turns: number };
  readonly rounds: readonly ToolsRound[];
}
