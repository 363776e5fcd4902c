import { aboutLine, aboutRun, busyWarning } from "../about-run.ts";
import type { Benchmark, BenchmarkContext } from "../benchmark.ts";
import { coresOfOthers, readProcessorTime } from "../child/processor-time.ts";
import { parseJsonOption } from "../json-option.ts";
import { type Pages, readRecord, writePages, writeRecord } from "../pages.ts";
import { textTable } from "../table.ts";
import { measureEnvSteps } from "./env-steps.ts";
import { type Held, heldCounts, isHeld, measureHeld } from "./held.ts";
import { heldTable, overheadTable, rolloutMarkdown, rolloutNotes, stepsTable } from "./report.ts";
import { type RolloutResults, summarise } from "./results.ts";
import { measureStepOverhead } from "./step-overhead.ts";
import { measureTurnOverhead } from "./turn-overhead.ts";

const help = `Rollouts without a model, in one process: how many are held with a tool of one second (500 to 10,000), what a turn
costs besides model and tool, alone and in a step of training, and how many steps a second each environment makes. Takes about a minute.
Writes bench/results/rollouts.json and docs/results/rollouts.md.

Usage: npm run bench -- rollouts [options]

  --json  print the figures as one JSON object instead of the tables

Example:
  npm run bench -- rollouts --json
`;

const overheadRounds = 50;
const overheadSteps = 24;
const secondsPerEnvironment = 0.5;

export const rolloutsBenchmark: Benchmark = {
  name: "rollouts",
  summary: "rollouts held at once, cost of a turn, steps of the environments",
  help,
  async run(args, context) {
    const { json } = parseJsonOption("rollouts", args);
    const results = await measureAll(args, context);
    writeResults(results, context.root);
    if (json) console.log(JSON.stringify(results.summary));
    else {
      const tables = [heldTable(results), overheadTable(results), stepsTable(results)].map(textTable);
      const { about, versions, coresOfOthers } = results;
      console.log(`\n${tables.join("\n\n")}\n\n${rolloutNotes}\n${aboutLine(about, versions, coresOfOthers)}`);
    }
  },
};

async function measureAll(
  args: readonly string[],
  { root, signal, progress }: BenchmarkContext,
): Promise<RolloutResults> {
  const about = aboutRun("rollouts", args, root);
  const warning = busyWarning(about);
  if (warning !== undefined) progress(warning);
  const [started, before] = [performance.now(), readProcessorTime(process.pid)];
  const turnOverhead = await measureTurnOverhead(overheadRounds, signal);
  for (const { name, microseconds } of turnOverhead) progress(`turn: ${name}: ${microseconds.toFixed(1)} µs`);
  const stepOverhead = await measureStepOverhead(overheadSteps, signal);
  progress(`step: ${stepOverhead.trained.toFixed(1)} µs a turn, ${stepOverhead.byHand.toFixed(1)} by hand`);
  const held: Held[] = [];
  for (const count of heldCounts) {
    const one = await measureHeld(count, signal);
    held.push(one);
    progress(`held: ${count} rollouts: p99 ${one.p99Ms.toFixed(0)} ms${isHeld(one) ? "" : ", too slow"}`);
  }
  const envSteps = await measureEnvSteps(secondsPerEnvironment, signal);
  for (const { name, stepsPerSecond } of envSteps) progress(`steps: ${name}: ${Math.round(stepsPerSecond)} per second`);
  const [seconds, after] = [(performance.now() - started) / 1000, readProcessorTime(process.pid)];
  return {
    about,
    versions: { node: process.versions.node },
    coresOfOthers: before && after ? coresOfOthers(before, after, seconds) : 0,
    summary: summarise(held, turnOverhead, envSteps, stepOverhead),
    held,
    turnOverhead,
    stepOverhead,
    envSteps,
  };
}

function writeResults(results: RolloutResults, root: string): void {
  writeRecord(root, "rollouts", results);
  writePages(root, rolloutsPages(root));
}

export function rolloutsPages(root: string): Pages {
  const results = readRecord<RolloutResults>(root, "rollouts");
  return results === undefined ? {} : { "docs/results/rollouts.md": rolloutMarkdown(results) };
}
