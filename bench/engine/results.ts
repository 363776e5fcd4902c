import { LudusError } from "../../src/errors.ts";
import type { AboutRun } from "../about-run.ts";
import { medianRate } from "../rate.ts";
import { median, spread } from "../statistics.ts";
import type { ComparisonName } from "./comparisons.ts";
import type { Measured } from "./measure.ts";

/** What bench/results/engine.json holds: every run, and what follows from them. */
export interface EngineResults {
  about: AboutRun;
  versions: Record<string, string>;
  parameters: number;
  rounds: number;
  /** Cores that other processes kept busy while something was timed. */
  coresOfOthers: number;
  ratios: EngineRatios;
  summary: Summary[];
  measured: Measured[];
}

/** Throughput of Ludus over that of the baseline, medians of one run on one machine. */
export interface EngineRatios {
  train_vs_torch: number;
  sample_vs_generate: number;
  grpo_step_vs_trl: number;
}

export interface Summary {
  comparison: ComparisonName;
  name: string;
  /** The baseline that the ratio is taken against: the fastest of its kind. */
  isBaseline: boolean;
  tokensPerSecond: number;
  seconds: number;
  spread: number;
  /** How many times as many tokens per second Ludus makes. */
  ludusSpeed: number;
  peakBytes?: number;
  /** Memory of Ludus over that of this one. */
  ludusMemory?: number;
}

export function summarise(measured: readonly Measured[]): Summary[] {
  const rate = ({ runs }: Measured) => medianRate(runs);
  return measured.map((one) => {
    const same = measured.filter(({ comparison }) => comparison === one.comparison);
    const ludus = same.find(({ implementation }) => implementation.role === "ludus")!;
    const baselines = same.filter(({ implementation }) => implementation.role === "baseline");
    const best = baselines.reduce((fastest, other) => (rate(other) > rate(fastest) ? other : fastest));
    const { peakBytes } = one;
    return {
      comparison: one.comparison,
      name: one.implementation.name,
      isBaseline: one === best,
      tokensPerSecond: rate(one),
      seconds: median(one.runs.map(({ seconds }) => seconds)),
      spread: spread(one.runs.map(({ tokens, seconds }) => tokens / seconds)),
      ludusSpeed: rate(ludus) / rate(one),
      ...(peakBytes === undefined ? {} : { peakBytes, ludusMemory: ludus.peakBytes! / peakBytes }),
    };
  });
}

export function engineRatios(summary: readonly Summary[]): EngineRatios {
  return {
    train_vs_torch: ratioOf(summary, "train 16x128"),
    sample_vs_generate: ratioOf(summary, "sample 64x(32+128)"),
    grpo_step_vs_trl: ratioOf(summary, "grpo step 64x(32+≤128)"),
  };
}

/** Of Ludus against the fastest baseline of a comparison. */
export function ratioOf(summary: readonly Summary[], name: ComparisonName): number {
  const { ludusSpeed } = summary.find(({ comparison, isBaseline }) => comparison === name && isBaseline)!;
  return Math.round(ludusSpeed * 1000) / 1000;
}

/** Both sides must have computed the same, or a ratio of their times means nothing. */
export function checkSameNumbers(measured: readonly Measured[]): void {
  for (const one of measured) {
    const { check } = one.runs[0];
    const reference = measured.find(({ comparison }) => comparison === one.comparison)!.runs[0].check;
    if (check === undefined || reference === undefined) continue;
    if (Math.abs(check - reference) <= 1e-3 * Math.abs(reference)) continue;
    throw new LudusError("different-computation", {
      got: `a gradient of norm ${check} from ${one.implementation.name} in "${one.comparison}"`,
      expected: `${reference}, that of Ludus, to a thousandth`,
      hint: "The two do not compute the same, so their times cannot be compared.",
    });
  }
}
