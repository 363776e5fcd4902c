import type { AboutRun } from "../about-run.ts";
import { medianRate } from "../rate.ts";
import { sampleRowFlops, trainRowFlops } from "./flops.ts";
import type { Growth } from "./growth/records.ts";
import type { MeasuredPoint, MeasuredScaling } from "./measure.ts";

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

export function machineGigaflops({ gemm }: MeasuredScaling): number {
  return Math.max(...gemm.map(({ gigaflops }) => gigaflops));
}

export function summarisePoint(point: MeasuredPoint, machine: number): PointSummary {
  const { series, parameters, config, length, trainRows, sampleRows, train, sample, torchTrain } = point;
  const rate = (tokensPerSecond: number, tokensPerRow: number, rowFlops: number): Rate => {
    const gigaflops = ((tokensPerSecond / tokensPerRow) * rowFlops) / 1e9;
    return { tokensPerSecond, gigaflops, share: gigaflops / machine };
  };
  const trainFlops = trainRowFlops(config, parameters, length);
  const sampleFlops = sampleRowFlops(config, parameters, length);
  return {
    series,
    parameters,
    width: config.width,
    layers: config.layers,
    length,
    trainRows,
    sampleRows,
    train: rate(medianRate(train), length, trainFlops),
    sample: rate(medianRate(sample), length / 2, sampleFlops),
    ...(torchTrain === undefined ? {} : { torchTrain: rate(medianRate(torchTrain), length, trainFlops) }),
  };
}
