import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { meanInterval } from "../../src/eval/index.ts";
import type { AboutRun } from "../about-run.ts";
import { type RunOutcome, RunSpec } from "./spec.ts";

export interface WorldRun {
  /** Of `plans.ts`, or "rate" in measurements of learning rates. */
  readonly method: string;
  readonly spec: RunSpec;
  readonly outcome: RunOutcome;
  readonly about: Pick<AboutRun, "date" | "commit" | "processor" | "cores">;
  /** Runs that went on beside it on the same machine. */
  readonly jobs: number;
}

export const worldsFile = "bench/results/worlds.json";
export const learnsFile = "bench/results/what-learns.json";
/** Runs on other held-out tasks than the reported ones, by which settings were chosen. */
export const validationFile = "bench/results/validation.json";

export function readRuns(root: string, file: string): readonly WorldRun[] {
  try {
    return JSON.parse(readFileSync(join(root, file), "utf8")).runs;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** Puts a run in place of those that it is the same as. */
export function keepRun(root: string, file: string, run: WorldRun, isSame: (other: WorldRun) => boolean): void {
  const runs = [...readRuns(root, file).filter((other) => !isSame(other)), run];
  mkdirSync(join(root, "bench/results"), { recursive: true });
  // renamed when it is whole: a full disk or a kill must not cost the runs that were kept
  const partial = join(root, `${file}.partial`);
  writeFileSync(partial, `{"runs":[\n${runs.map((each) => JSON.stringify(each)).join(",\n")}\n]}\n`);
  renameSync(partial, join(root, file));
}

export function isSameSpec(a: RunSpec, b: RunSpec): boolean {
  return JSON.stringify(RunSpec.parse(a)) === JSON.stringify(RunSpec.parse(b));
}

export interface Row {
  readonly before: number;
  readonly after: number;
  readonly low: number;
  readonly high: number;
  readonly seeds: number;
  /** Where tasks were attempted several times: the share that was solved each time. */
  readonly passHat?: number;
  readonly rollouts: number;
  readonly seconds: number;
  readonly engine: string;
  readonly parameters: number;
  readonly method: string;
}

/** What a run of a world is judged by. */
export function measured(outcome: RunOutcome, when: "before" | "after", measure?: "score"): number {
  const { before, beforeReward, after = before, afterReward = beforeReward } = outcome;
  if (measure === "score") return when === "before" ? beforeReward : afterReward;
  return when === "before" ? before.mean : after.mean;
}

/** Means over seeds; the interval is Student's t over them, within 0 and 1. It says nothing for a single seed. */
export function rowOf(runs: readonly WorldRun[], measure?: "score"): Row | undefined {
  if (runs.length === 0) return undefined;
  const mean = (value: (run: WorldRun) => number) => runs.reduce((sum, run) => sum + value(run), 0) / runs.length;
  const { spec, method } = runs[0];
  const after = meanInterval(runs.map(({ outcome }) => measured(outcome, "after", measure)));
  return {
    before: round(mean(({ outcome }) => measured(outcome, "before", measure))),
    after: round(after.mean),
    low: round(Math.max(0, after.low)),
    high: round(Math.min(1, after.high)),
    seeds: runs.length,
    ...(runs.every(({ outcome }) => outcome.passHat === undefined)
      ? {}
      : { passHat: round(mean(({ outcome }) => outcome.passHat ?? 0)) }),
    rollouts: Math.round(mean(({ outcome }) => outcome.rollouts)),
    seconds: Math.round(mean(({ outcome }) => outcome.seconds)),
    engine: spec.engine === "cuda" ? "torch, cuda" : "embedded",
    parameters: runs[0].outcome.parameters,
    method: method === "recommended" ? methodName(spec) : method,
  };
}

function methodName({ learn }: RunSpec): string {
  if (learn === undefined) return "imitation";
  const { miniBatches } = learn.options as { miniBatches?: number };
  return miniBatches === undefined ? learn.method : `${learn.method}, ${miniBatches} mini-batches`;
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
