import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { aboutLine, aboutRun, busyWarning } from "../about-run.ts";
import type { Benchmark, BenchmarkContext } from "../benchmark.ts";
import { requirePython } from "../child/start.ts";
import { type Pages, readRecord, writePages, writeRecord } from "../pages.ts";
import { meanCoresOfOthers } from "../rate.ts";
import { parseRoundsOptions } from "../rounds-options.ts";
import { textTable } from "../table.ts";
import { makeComparisons } from "./comparisons.ts";
import { makeModel } from "./make-model.ts";
import { measure } from "./measure.ts";
import { engineMarkdown, engineNotes, engineTable } from "./report.ts";
import { checkSameNumbers, type EngineResults, engineRatios, summarise } from "./results.ts";

const help = `The embedded engine beside PyTorch, transformers generate and TRL, interleaved in one run: training,
sampling, a whole GRPO step, and the peak memory of each. Writes bench/results/engine.json and docs/results/engine.md.

Usage: npm run bench -- engine [options]

  --rounds <n>  how often everyone runs, besides up to three rounds to warm up; 5 by default
  --json        print the three ratios as one JSON object instead of the table

Example:
  npm run bench -- engine --rounds 3
`;

export const engineBenchmark: Benchmark = {
  name: "engine",
  summary: "training, sampling and a GRPO step beside PyTorch, transformers and TRL",
  help,
  async run(args, context) {
    const { rounds, json } = parseRoundsOptions("engine", args);
    const results = await measureEngine(args, rounds, context);
    writeResults(results, context.root);
    const { about, versions, summary, ratios, coresOfOthers } = results;
    if (json) console.log(JSON.stringify(ratios));
    else
      console.log(
        `\n${textTable(engineTable(summary))}\n\n${engineNotes}\n${aboutLine(about, versions, coresOfOthers)}`,
      );
  },
};

async function measureEngine(
  args: readonly string[],
  rounds: number,
  context: BenchmarkContext,
): Promise<EngineResults> {
  const python = requirePython(context);
  const about = aboutRun("engine", args, context.root);
  const warning = busyWarning(about);
  if (warning !== undefined) context.progress(warning);
  const scratch = mkdtempSync(join(tmpdir(), "ludus-bench-"));
  try {
    const model = await makeModel(scratch);
    const measured = await measure(makeComparisons(model), { ...context, rounds, python });
    checkSameNumbers(measured);
    const summary = summarise(measured);
    const versions = Object.assign({}, ...measured.map((one) => one.versions));
    const { parameters } = model;
    const coresOfOthers = meanCoresOfOthers(measured.flatMap(({ runs }) => runs));
    return { about, versions, parameters, rounds, coresOfOthers, ratios: engineRatios(summary), summary, measured };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function writeResults(results: EngineResults, root: string): void {
  writeRecord(root, "engine", results);
  writePages(root, enginePages(root));
}

export function enginePages(root: string): Pages {
  const results = readRecord<EngineResults>(root, "engine");
  return results === undefined ? {} : { "docs/results/engine.md": engineMarkdown(results) };
}
