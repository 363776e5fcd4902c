import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { LudusError } from "../../src/errors.ts";
import { aboutLine, aboutRun, busyWarning } from "../about-run.ts";
import type { Benchmark, BenchmarkContext } from "../benchmark.ts";
import { pythonFor } from "../child/start.ts";
import { type Pages, readRecord, writePages, writeRecord } from "../pages.ts";
import { meanCoresOfOthers } from "../rate.ts";
import { textTable } from "../table.ts";
import { measureGrowth } from "./growth/measure.ts";
import { type GrowthPart, growthParts } from "./growth/records.ts";
import { growthTables } from "./growth/report.ts";
import { measureSampling, measureScaling } from "./measure.ts";
import { type Point, pointName, points } from "./points.ts";
import { scalingMarkdown, scalingNotes, scalingPlot, scalingTable } from "./report.ts";
import { machineGigaflops, type ScalingResults, summarisePoint } from "./results.ts";

const parts = ["model", ...growthParts] as const;
type Part = (typeof parts)[number];

const help = `Training and sampling over model size (0.3M to 100M parameters) and sequence length (64 to 2048), with the share
of the machine's own matrix-product rate, and PyTorch's training where Python is there; then sampling over the number of turns, the
length of the history and the number of rollouts at once. Takes about ten minutes. Writes bench/results/scaling.json,
docs/results/scaling.md and docs/results/scaling.svg, in which parts that are not measured stay as they are.

Usage: npm run bench -- scaling [options]

  --only <parts>        of ${parts.join(", ")}, with commas between them (all)
  --sampling <points>   only the sampling of some points, beside the matrix product; writes nothing.
                        Points: ${points.map(pointName).join(", ")}

Example:
  LUDUS_PYTHON=.venv/bin/python npm run bench -- scaling
  npm run bench -- scaling --only turns,history
  npm run bench -- scaling --sampling 102M,length-2048
`;

export const scalingBenchmark: Benchmark = {
  name: "scaling",
  summary: "training and sampling over model size, sequence length, turns and rollouts",
  help,
  async run(args, context) {
    const { only, sampling } = optionsOf(args);
    if (sampling !== undefined) {
      await measureSampling(sampling, context);
      return;
    }
    for (const part of only) {
      if (part === "model") await runModel(context);
      else await runGrowth(part, context);
    }
  },
};

/** The parts to measure, or the points whose sampling alone is measured. */
function optionsOf(args: readonly string[]): { only: readonly Part[]; sampling?: Point[] } {
  const refuse = (got: string, expected: string) =>
    new LudusError("bad-option", { got, expected, hint: "See npm run bench -- scaling --help." });
  const chosen = <Value>(option: string, list: string, known: ReadonlyMap<string, Value>): Value[] =>
    list.split(",").map((name) => {
      const found = known.get(name);
      if (found === undefined) throw refuse(`--${option} ${name}`, `some of ${[...known.keys()].join(",")}`);
      return found;
    });
  let values: { only?: string; sampling?: string };
  try {
    const options = { only: { type: "string" }, sampling: { type: "string" } } as const;
    values = parseArgs({ args: [...args], options }).values;
  } catch {
    throw refuse(args.join(" "), "--only or --sampling");
  }
  const { only, sampling } = values;
  if (sampling !== undefined) {
    return {
      only: [],
      sampling: chosen("sampling", sampling, new Map(points.map((point) => [pointName(point), point]))),
    };
  }
  return { only: only === undefined ? parts : chosen("only", only, new Map(parts.map((part) => [part, part]))) };
}

async function runModel(context: BenchmarkContext): Promise<void> {
  const growth = readResults(context.root)?.growth;
  const results: ScalingResults = { ...(await measureAll(context)), ...(growth === undefined ? {} : { growth }) };
  writeResults(results, context.root);
  const { about, versions, summary, machineGigaflops: machine, coresOfOthers } = results;
  const tables = (["size", "length"] as const).map((series) => textTable(scalingTable(summary, series)));
  const notes = `${scalingNotes}\nThis machine's rate: ${Math.round(machine)} GFLOP/s.`;
  console.log(`\n${tables.join("\n\n")}\n\n${notes}\n${aboutLine(about, versions, coresOfOthers)}`);
}

async function runGrowth(part: GrowthPart, context: BenchmarkContext): Promise<void> {
  const results = readResults(context.root);
  if (results === undefined) {
    throw new LudusError("no-results", {
      got: "no bench/results/scaling.json",
      expected: "the part `model`, which the page begins with",
      hint: "Run npm run bench -- scaling --only model first.",
    });
  }
  const isSameMachine = results.about.processor === cpus()[0]?.model;
  const measured = await measureGrowth(part, isSameMachine ? results.machineGigaflops : 0, context);
  writeResults({ ...results, growth: { ...results.growth, ...measured } }, context.root);
  console.log(`\n${growthTables(measured).map(textTable).join("\n\n")}`);
}

function readResults(root: string): ScalingResults | undefined {
  return readRecord(root, "scaling");
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
  writeRecord(root, "scaling", results);
  writePages(root, scalingPages(root));
}

export function scalingPages(root: string): Pages {
  const results = readResults(root);
  if (results === undefined) return {};
  return {
    "docs/results/scaling.md": scalingMarkdown(results),
    "docs/results/scaling.svg": scalingPlot(results),
  };
}
