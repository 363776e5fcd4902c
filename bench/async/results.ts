import type { AboutRun } from "../about-run.ts";
import type { ClusterFigures } from "../cluster/cluster.ts";
import type { Measured, workload } from "./workload.ts";

export interface Round {
  readonly turns: number;
  readonly sync: Measured;
  readonly async: Measured;
  /** Load average over the last minute, when both had ended. */
  readonly load: number;
}

/** What bench/results/async.json holds. */
export interface AsyncResults {
  readonly about: AboutRun;
  readonly versions: Readonly<Record<string, string>>;
  readonly workload: typeof workload;
  readonly summary: AsyncSummary & ClusterFigures["summary"];
  readonly rounds: readonly Round[];
  readonly cluster: ClusterFigures["measured"];
}

export interface AsyncSummary {
  readonly async_vs_batch_1turn: number;
  readonly async_vs_batch_3turns: number;
  /** The larger of both numbers of turns. */
  readonly trainer_waits: number;
}

export function summarise(measured: readonly Round[]): AsyncSummary {
  const of = (turns: number) => measured.filter((round) => round.turns === turns);
  const ratio = (turns: number) =>
    round(median(of(turns).map((each) => each.async.stepsPerSecond / each.sync.stepsPerSecond)));
  const waits = (turns: number) => median(of(turns).map((each) => each.async.trainerWaits!));
  return {
    async_vs_batch_1turn: ratio(1),
    async_vs_batch_3turns: ratio(3),
    trainer_waits: round(Math.max(waits(1), waits(3))),
  };
}

function round(value: number): number {
  return Number(value.toFixed(3));
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const [low, high] = [sorted[Math.floor((sorted.length - 1) / 2)], sorted[Math.floor(sorted.length / 2)]];
  return (low + high) / 2;
}
