import { LudusError } from "../../src/errors.ts";
import type { AboutRun } from "../about-run.ts";
import type { TimedRun } from "../child/protocol.ts";
import type { ComparisonName } from "../engine/comparisons.ts";
import type { Measured } from "../engine/measure.ts";
import { ratioOf, type Summary } from "../engine/results.ts";
import { median } from "../statistics.ts";

/** What bench/results/turns.json holds: every run, and what follows from them. */
export interface TurnsResults {
  about: AboutRun;
  versions: Record<string, string>;
  parameters: number;
  rounds: number;
  coresOfOthers: number;
  ratios: TurnsRatios;
  /** The same of processor time for as many tokens; undefined where the system does not tell. */
  processorRatios: TurnsRatios | undefined;
  summary: Summary[];
  /** Of the steps of several turns, by implementation. */
  steps: StepSummary[];
  measured: Measured[];
}

/** Throughput of Ludus over that of TRL, medians of one run on one machine. */
export interface TurnsRatios {
  turns_vs_trl: number;
  grpo_step_vs_trl: number;
}

export interface StepSummary {
  name: string;
  /** What a step did: rollouts, turns, calls, tokens. Medians. */
  counts: Record<string, number>;
  /** Seconds by stage. Medians, which need not add up. */
  stages: Record<string, number>;
  /** Median; undefined where the system does not tell. */
  processorSeconds: number | undefined;
}

export function turnsRatios(summary: readonly Summary[]): TurnsRatios {
  return {
    turns_vs_trl: ratioOf(summary, "grpo step 64x4 turns"),
    grpo_step_vs_trl: ratioOf(summary, "grpo step 64x(32+≤128)"),
  };
}

/** How many times as much processor time a token takes with the baselines that `turnsRatios` compares with. */
export function turnsProcessorRatios(
  measured: readonly Measured[],
  summary: readonly Summary[],
): TurnsRatios | undefined {
  if (measured.some(({ runs }) => runs[0].processorSeconds === undefined)) return undefined;
  const ratio = (comparison: ComparisonName) => {
    const baseline = summary.find((one) => one.comparison === comparison && one.isBaseline)!;
    const perToken = (name: string) => {
      const { runs } = measured.find((one) => one.comparison === comparison && one.implementation.name === name)!;
      return median(runs.map(({ processorSeconds = 0, tokens }) => processorSeconds / tokens));
    };
    return Math.round((perToken(baseline.name) / perToken("Ludus")) * 1000) / 1000;
  };
  return { turns_vs_trl: ratio("grpo step 64x4 turns"), grpo_step_vs_trl: ratio("grpo step 64x(32+≤128)") };
}

export function summariseSteps(measured: readonly Measured[]): StepSummary[] {
  return measured
    .filter(({ comparison }) => comparison === "grpo step 64x4 turns")
    .map(({ implementation, runs }) => ({
      name: implementation.name,
      counts: medians(runs, "counts"),
      stages: medians(runs, "stages"),
      processorSeconds:
        runs[0].processorSeconds === undefined ? undefined : median(runs.map((run) => run.processorSeconds ?? 0)),
    }));
}

function medians(runs: readonly TimedRun[], field: "counts" | "stages"): Record<string, number> {
  const names = new Set(runs.flatMap((run) => Object.keys(run[field] ?? {})));
  return Object.fromEntries([...names].map((name) => [name, median(runs.map((run) => run[field]?.[name] ?? 0))]));
}

const tolerance = 0.04;

/** The policy decides how much there is to do: where one side did less, a ratio of times means nothing. */
export function checkSameWork([ludus, ...others]: readonly StepSummary[]): void {
  for (const { name, counts } of others) {
    for (const [what, count] of Object.entries(ludus.counts)) {
      if (Math.abs((counts[what] ?? 0) - count) <= tolerance * count) continue;
      throw new LudusError("different-work", {
        got: `${counts[what] ?? 0} ${what} in a step of ${name}`,
        expected: `${count}, those of Ludus, to ${tolerance * 100} %`,
        hint: "The two did not do the same, so their times cannot be compared.",
      });
    }
  }
}
