import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { aboutLine, aboutRun, busyWarning } from "../about-run.ts";
import type { Benchmark, BenchmarkContext } from "../benchmark.ts";
import { requirePython } from "../child/start.ts";
import { grpoStepComparison } from "../engine/comparisons.ts";
import { makeModel } from "../engine/make-model.ts";
import { measure } from "../engine/measure.ts";
import { engineNotes, engineTable } from "../engine/report.ts";
import { summarise } from "../engine/results.ts";
import { type Pages, readRecord, writePages, writeRecord } from "../pages.ts";
import { meanCoresOfOthers } from "../rate.ts";
import { parseRoundsOptions } from "../rounds-options.ts";
import { textTable } from "../table.ts";
import { makeAgent } from "./make-agent.ts";
import { countTable, stageTable, turnsMarkdown, turnsPlot } from "./report.ts";
import { checkSameWork, summariseSteps, type TurnsResults, turnsProcessorRatios, turnsRatios } from "./results.ts";
import { makeSearchWorld } from "./search-env.ts";
import { temperature, turns, turnsComparison, turnTokens } from "./workload.ts";

const help = `A search agent that calls a tool in each of four turns, trained by whole steps of GRPO beside TRL's GRPOTrainer with
tools, and the single-turn step of the engine benchmark; interleaved in one run. First a small model imitates an expert for
about a minute, until it calls its tool in every turn. Writes bench/results/turns.json and docs/results/turns.md.

Usage: npm run bench -- turns [options]

  --rounds <n>  how often everyone runs, besides up to three rounds to warm up; 5 by default
  --json        print the two ratios as one JSON object instead of the tables

Example:
  npm run bench -- turns --rounds 1
`;

export const turnsBenchmark: Benchmark = {
  name: "turns",
  summary: "training steps of an agent with a tool, four turns each, beside TRL",
  help,
  async run(args, context) {
    const { rounds, json } = parseRoundsOptions("turns", args);
    const results = await measureTurns(args, rounds, context);
    writeResults(results, context.root);
    const { about, versions, summary, steps, ratios, coresOfOthers } = results;
    if (json) return console.log(JSON.stringify(ratios));
    const tables = [engineTable(summary), countTable(steps), stageTable(steps)].map(textTable);
    console.log(`\n${tables.join("\n\n")}\n\n${engineNotes}\n${aboutLine(about, versions, coresOfOthers)}`);
  },
};

async function measureTurns(args: readonly string[], rounds: number, context: BenchmarkContext): Promise<TurnsResults> {
  const python = requirePython(context);
  const about = aboutRun("turns", args, context.root);
  const warning = busyWarning(about);
  if (warning !== undefined) context.progress(warning);
  const scratch = mkdtempSync(join(tmpdir(), "ludus-bench-"));
  try {
    const world = makeSearchWorld(turns);
    const agent = await makeAgent(scratch, { ...context, world, turns, turnTokens, temperature });
    const model = await makeModel(scratch);
    const comparisons = [turnsComparison(agent.folder, world), grpoStepComparison(model.folder)];
    const measured = await measure(comparisons, { ...context, rounds, python });
    const steps = summariseSteps(measured);
    checkSameWork(steps);
    const summary = summarise(measured);
    const versions = Object.assign({}, ...measured.map((one) => one.versions));
    const coresOfOthers = meanCoresOfOthers(measured.flatMap(({ runs }) => runs));
    const { parameters } = agent;
    return {
      about,
      versions,
      parameters,
      rounds,
      coresOfOthers,
      ratios: turnsRatios(summary),
      processorRatios: turnsProcessorRatios(measured, summary),
      summary,
      steps,
      measured,
    };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function writeResults(results: TurnsResults, root: string): void {
  writeRecord(root, "turns", results);
  writePages(root, turnsPages(root));
}

export function turnsPages(root: string): Pages {
  const results = readRecord<TurnsResults>(root, "turns");
  if (results === undefined) return {};
  return { "docs/results/turns.md": turnsMarkdown(results), "docs/results/turns.svg": turnsPlot(results) };
}
