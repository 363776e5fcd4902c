import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { LudusError } from "../../src/errors.ts";
import { aboutLine, aboutRun, busyWarning } from "../about-run.ts";
import type { Benchmark, BenchmarkContext } from "../benchmark.ts";
import { pythonFor } from "../child/start.ts";
import { meanCoresOfOthers } from "../rate.ts";
import { textTable } from "../table.ts";
import { measureGrowth } from "./growth/measure.ts";
import { type GrowthPart, growthParts } from "./growth/records.ts";
import { growthTables } from "./growth/report.ts";
import { measureScaling } from "./measure.ts";
import { scalingMarkdown, scalingNotes, scalingPlot, scalingTable } from "./report.ts";
import { machineGigaflops, type ScalingResults, summarisePoint } from "./results.ts";

const parts = ["model", ...growthParts] as const;
type Part = (typeof parts)[number];

const help = `Training and sampling over model size (0.3M to 100M parameters) and sequence length (64 to 2048), with the share
of the machine's own matrix-product rate, and PyTorch's training where Python is there; then sampling over the number of turns, the
length of the history and the number of rollouts at once. Takes about ten minutes. Writes bench/results/scaling.json,
docs/results/scaling.md and docs/results/scaling.svg, in which parts that are not measured stay as they are.

Usage: npm run bench -- scaling [options]

  --only <parts>  of ${parts.join(", ")}, with commas between them (all)

Example:
  LUDUS_PYTHON=.venv/bin/python npm run bench -- scaling
  npm run bench -- scaling --only turns,history
`;

export const scalingBenchmark: Benchmark = {
  name: "scaling",
  summary: "training and sampling over model size, sequence length, turns and rollouts",
  help,
  async run(args, context) {
    for (const part of chosenParts(args)) {
      if (part === "model") await runModel(context);
      else await runGrowth(part, context);
    }
  },
};

function chosenParts(args: readonly string[]): readonly Part[] {
  const refuse = (got: string, expected: string) =>
    new LudusError("bad-option", { got, expected, hint: "See npm run bench -- scaling --help." });
  let only: string | undefined;
  try {
    only = parseArgs({ args: [...args], options: { only: { type: "string" } } }).values.only;
  } catch {
    throw refuse(args.join(" "), "--only");
  }
  if (only === undefined) return parts;
  const unknown = only.split(",").find((name) => !(parts as readonly string[]).includes(name));
  if (unknown !== undefined) throw refuse(`--only ${unknown}`, `${parts.join(", ")}, or several of them`);
  return parts.filter((part) => only.split(",").includes(part));
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
  const file = join(root, "bench/results/scaling.json");
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
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
