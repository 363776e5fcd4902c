import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LudusError } from "../../src/errors.ts";
import { aboutLine, aboutRun, busyWarning } from "../about-run.ts";
import type { Benchmark, BenchmarkContext } from "../benchmark.ts";
import { pythonFor } from "../child/start.ts";
import { meanCoresOfOthers } from "../rate.ts";
import { textTable } from "../table.ts";
import { measureSampling, measureScaling } from "./measure.ts";
import { type Point, pointName, points } from "./points.ts";
import { scalingMarkdown, scalingNotes, scalingPlot, scalingTable } from "./report.ts";
import { machineGigaflops, type ScalingResults, summarisePoint } from "./results.ts";

const help = `Training and sampling over model size (0.3M to 100M parameters) and sequence length (64 to 2048), with the share
of the machine's own matrix-product rate, and PyTorch's training where Python is there. Takes about five minutes.
Writes bench/results/scaling.json, docs/results/scaling.md and docs/results/scaling.svg.

Usage: npm run bench -- scaling [--sampling <points>]

  --sampling <points>   only the sampling of some points, beside the matrix product; writes nothing.
                        Points: ${points.map(pointName).join(", ")}

Example:
  LUDUS_PYTHON=.venv/bin/python npm run bench -- scaling
  npm run bench -- scaling --sampling 102M,length-2048
`;

export const scalingBenchmark: Benchmark = {
  name: "scaling",
  summary: "training and sampling over model size and sequence length",
  help,
  async run(args, context) {
    if (args.length > 0) {
      await measureSampling(parsePoints(args), context);
      return;
    }
    const results = await measureAll(context);
    writeResults(results, context.root);
    const { about, versions, summary, machineGigaflops: machine, coresOfOthers } = results;
    const tables = (["size", "length"] as const).map((series) => textTable(scalingTable(summary, series)));
    const notes = `${scalingNotes}\nThis machine's rate: ${Math.round(machine)} GFLOP/s.`;
    console.log(`\n${tables.join("\n\n")}\n\n${notes}\n${aboutLine(about, versions, coresOfOthers)}`);
  },
};

function parsePoints(args: readonly string[]): Point[] {
  const [option, list = "", ...rest] = args;
  const chosen = list.split(",").map((name) => points.find((point) => pointName(point) === name));
  if (option === "--sampling" && rest.length === 0 && !chosen.includes(undefined)) return chosen as Point[];
  throw new LudusError("bad-option", {
    got: args.join(" "),
    expected: `no options, or --sampling with some of ${points.map(pointName).join(",")}`,
    hint: "See npm run bench -- scaling --help.",
  });
}

async function measureAll(context: BenchmarkContext): Promise<ScalingResults> {
  const about = aboutRun("scaling", [], context.root);
  const warning = busyWarning(about);
  if (warning !== undefined) context.progress(warning);
  const search = pythonFor(context);
  if (!search.found) context.progress(`without PyTorch: ${search.reason}; scripts/setup-python.sh makes one`);
  const measured = await measureScaling(search.found ? search.python : undefined, context);
  const machine = machineGigaflops(measured);
  const summary = measured.points.map((point) => summarisePoint(point, machine));
  const runs = measured.points.flatMap(({ train, sample, torchTrain = [] }) => [...train, ...sample, ...torchTrain]);
  const coresOfOthers = meanCoresOfOthers(runs);
  return { about, versions: measured.versions, machineGigaflops: machine, coresOfOthers, summary, measured };
}

function writeResults(results: ScalingResults, root: string): void {
  for (const folder of ["bench/results", "docs/results"]) mkdirSync(join(root, folder), { recursive: true });
  writeFileSync(join(root, "bench/results/scaling.json"), `${JSON.stringify(results, null, 1)}\n`);
  writeFileSync(join(root, "docs/results/scaling.md"), scalingMarkdown(results));
  writeFileSync(join(root, "docs/results/scaling.svg"), scalingPlot(results));
}
