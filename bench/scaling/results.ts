import type { AboutRun } from "../about-run.ts";
import type { TimedRun } from "../child/protocol.ts";
import { medianRate } from "../rate.ts";
import { sampleRowFlops, trainRowFlops } from "./flops.ts";
import type { Growth } from "./growth/records.ts";
import type { MeasuredPoint, MeasuredScaling } from "./measure.ts";
import type { Point } from "./points.ts";

/** What bench/results/scaling.json holds. */
export interface ScalingResults {
  about: AboutRun;
  versions: Record<string, string>;
  /** What the machine can do: the fastest matrix product of the run. */
  machineGigaflops: number;
  /** Cores that other processes kept busy while something was timed. */
  coresOfOthers: number;
  summary: PointSummary[];
  measured: MeasuredScaling;
  /** Parts that are measured by themselves: turns, rollouts at once, length of the history. */
  growth?: Growth;
}

export interface PointSummary {
  series: MeasuredPoint["series"];
  parameters: number;
  width: number;
  layers: number;
  length: number;
  trainRows: number;
  sampleRows: number;
  train: Rate;
  sample: Rate;
  torchTrain?: Rate;
}

export interface Rate {
  tokensPerSecond: number;
  gigaflops: number;
  /** Of what the machine can do. */
  share: number;
}

export function machineGigaflops({ gemm }: Pick<MeasuredScaling, "gemm">): number {
  return Math.max(...gemm.map(({ gigaflops }) => gigaflops));
}

/** What runs come to, whose rows have so many tokens and operations. */
function rateOf(runs: readonly TimedRun[], row: { tokens: number; flops: number }, machine: number): Rate {
  const tokensPerSecond = medianRate(runs);
  const gigaflops = ((tokensPerSecond / row.tokens) * row.flops) / 1e9;
  return { tokensPerSecond, gigaflops, share: gigaflops / machine };
}

export function sampleRate({ config, parameters, length }: Point, runs: readonly TimedRun[], machine: number): Rate {
  return rateOf(runs, { tokens: length / 2, flops: sampleRowFlops(config, parameters, length) }, machine);
}

export function summarisePoint(point: MeasuredPoint, machine: number): PointSummary {
  const { series, parameters, config, length, trainRows, sampleRows, train, sample, torchTrain } = point;
  const trainRow = { tokens: length, flops: trainRowFlops(config, parameters, length) };
  return {
    series,
    parameters,
    width: config.width,
    layers: config.layers,
    length,
    trainRows,
    sampleRows,
    train: rateOf(train, trainRow, machine),
    sample: sampleRate(point, sample, machine),
    ...(torchTrain === undefined ? {} : { torchTrain: rateOf(torchTrain, trainRow, machine) }),
  };
}
