import { availableParallelism } from "node:os";
import type { BenchmarkContext } from "../benchmark.ts";
import type { Child } from "../child/child.ts";
import type { TimedRun, Workload } from "../child/protocol.ts";
import { startLudus, startPython } from "../child/start.ts";
import { describeRate } from "../rate.ts";
import { median } from "../statistics.ts";
import { formatNumber } from "../table.ts";
import { type Point, pointName, points } from "./points.ts";
import { machineGigaflops, sampleRate } from "./results.ts";
import { sampleWorkload, trainWorkload } from "./workloads.ts";

export interface MeasuredPoint extends Point {
  train: readonly TimedRun[];
  sample: readonly TimedRun[];
  /** Absent where there is no Python. */
  torchTrain?: readonly TimedRun[];
}

export interface MeasuredScaling {
  points: MeasuredPoint[];
  /** GFLOP/s of a square matrix product, before, between and after. */
  gemm: { size: number; gigaflops: number }[];
  versions: Record<string, string>;
}

const measuringSeconds = 2;
const gemmSizes = [512, 768, 1024];
const gemmSeconds = 0.3;
const threads = availableParallelism();

export async function measureScaling(python: string | undefined, context: BenchmarkContext): Promise<MeasuredScaling> {
  const torch = python === undefined ? undefined : startPython(python, context, "PyTorch");
  const scaling: MeasuredScaling = { points: [], gemm: [], versions: {} };
  try {
    // importing PyTorch takes seconds of both cores: it must be over before anything is timed
    await torch?.prepare({ workload: trainWorkload(points[0]), variant: "default", threads });
    for (const [index, point] of points.entries()) {
      if (point.series !== points[index - 1]?.series) scaling.gemm.push(...(await measureGemm(context)));
      scaling.points.push(await measurePoint(point, torch, scaling.versions, context));
    }
    scaling.gemm.push(...(await measureGemm(context)));
    return scaling;
  } finally {
    torch?.close();
  }
}

/** Sampling of some points alone, each between two measurements of the matrix product. */
export async function measureSampling(some: readonly Point[], context: BenchmarkContext): Promise<void> {
  const gemm = await measureGemm(context);
  for (const point of some) {
    const sample = await withLudus(context, (ludus) => runFor(measuringSeconds, ludus, sampleWorkload(point), {}));
    gemm.push(...(await measureGemm(context)));
    const machine = machineGigaflops({ gemm });
    const { gigaflops, share } = sampleRate(point, sample, machine);
    const rates = `${formatNumber(gigaflops)} GFLOP/s, ${Math.round(share * 100)}% of ${Math.round(machine)}`;
    console.log(`${pointName(point)}: ${describeRate(sample)}, ${rates}`);
  }
}

export async function measureGemm(context: BenchmarkContext): Promise<MeasuredScaling["gemm"]> {
  return await withLudus(context, async (ludus) => {
    const rates = [];
    for (const size of gemmSizes) {
      const runs = await runFor(gemmSeconds, ludus, { kind: "gemm", size }, {});
      rates.push({ size, gigaflops: (2 * size ** 3) / median(runs.map(({ seconds }) => seconds)) / 1e9 });
    }
    context.progress(
      `matrix product: ${rates.map((one) => `${one.size} ${one.gigaflops.toFixed(0)} GFLOP/s`).join(", ")}`,
    );
    return rates;
  });
}

async function measurePoint(
  point: Point,
  torch: Child | undefined,
  versions: Record<string, string>,
  context: BenchmarkContext,
): Promise<MeasuredPoint> {
  const { length, parameters } = point;
  const train = trainWorkload(point);
  const label = `${formatNumber(parameters / 1e6)}M parameters, length ${length}`;
  const run = async (who: string, child: Child, workload: Workload) => {
    const runs = await runFor(measuringSeconds, child, workload, versions);
    context.progress(`${label}  ${who}: ${describeRate(runs)}`);
    return runs;
  };
  // a fresh process for every point: what a larger model left behind cannot slow a smaller one down
  return await withLudus(context, async (ludus) => ({
    ...point,
    train: await run("Ludus training", ludus, train),
    ...(torch === undefined ? {} : { torchTrain: await run("PyTorch training", torch, train) }),
    sample: await run("Ludus sampling", ludus, sampleWorkload(point)),
  }));
}

async function withLudus<Result>(context: BenchmarkContext, use: (child: Child) => Promise<Result>): Promise<Result> {
  const child = startLudus(context, "Ludus");
  try {
    return await use(child);
  } finally {
    child.close();
  }
}

/** One run to warm up, then as many as the time allows. */
async function runFor(
  budgetSeconds: number,
  child: Child,
  workload: Workload,
  versions: Record<string, string>,
): Promise<TimedRun[]> {
  Object.assign(versions, (await child.prepare({ workload, variant: "default", threads })).versions);
  await child.run();
  const runs: TimedRun[] = [];
  for (let spent = 0; spent < budgetSeconds; spent += runs.at(-1)!.seconds) runs.push(await child.run());
  return runs;
}
