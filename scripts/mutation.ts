// Mutation testing: changes the source in small ways and reports the changes that no test notices. Stryker makes and runs the
// mutants in a copy under .scratch/, so the working tree is not touched, not even when the run is interrupted.

import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { parseArgs } from "node:util";
import { Stryker } from "@stryker-mutator/core";
import { errorText } from "../src/errors.ts";
import { equivalentMutants } from "./mutation/equivalent-mutants.ts";
import {
  type MutationReport,
  mutationReport,
  type Outcome,
  onOneLine,
  summaryLine,
  survivorLine,
  type TestedMutant,
} from "./mutation/mutation-report.ts";
import { notSampled } from "./mutation/sample-checker.ts";

const usage = `Usage: npm run test:mutation -- <folder or file> [options]

Mutates the sources of a folder (or one file), runs the unit tests of that folder against each mutant, and lists the
mutants that survive as "file:line: before -> after". Exits with 1 when the score is below the minimum.

Options
  --tests <folder>   where the tests are, when they are not beside the source
  --min-score <n>    percent of mutants to be noticed (default 80)
  --share <n>        test only this share of the mutants, 0 to 1, the same ones every time (default 1)
  --incremental      reuse results of the last --incremental run for what did not change
  --json             end with one JSON object on the last line
  --help             show this text

Examples
  npm run test:mutation -- src/credit
  npm run test:mutation -- src/loss/ppo-clip.ts
  npm run test:mutation -- src/train/stages --tests src/train --json`;

const root = join(import.meta.dirname, "..");

interface Arguments {
  readonly target: string;
  readonly tests: string;
  readonly minScore: number;
  readonly share: number;
  readonly incremental: boolean;
  readonly json: boolean;
}

/** Throws on an unknown option, with a message that names it. */
function readArguments(): Arguments | { readonly problem: string } | "help" {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      tests: { type: "string" },
      "min-score": { type: "string", default: "80" },
      share: { type: "string", default: "1" },
      incremental: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return "help";
  const [given, ...more] = positionals;
  if (given === undefined || more.length > 0) return { problem: `got ${positionals.length} paths, expected one` };
  const target = relative(root, join(root, given));
  if (!existsSync(join(root, target))) return { problem: `${target} does not exist` };
  const tests = values.tests ?? (isFile(target) ? dirname(target) : target);
  if (!existsSync(join(root, tests))) return { problem: `${tests} does not exist` };
  const minScore = Number(values["min-score"]);
  if (!(minScore >= 0 && minScore <= 100)) {
    return { problem: `got --min-score ${values["min-score"]}, expected a number from 0 to 100` };
  }
  const share = Number(values.share);
  if (!(share > 0 && share <= 1)) {
    return { problem: `got --share ${values.share}, expected a number above 0 and at most 1` };
  }
  return { target, tests, minScore, share, incremental: values.incremental, json: values.json };
}

const isFile = (path: string) => statSync(join(root, path)).isFile();

async function runStryker({ target, tests, share, incremental }: Arguments): Promise<TestedMutant[]> {
  // read by vitest.config.ts. Stryker's own `testFiles` activates mutants of module constants too late, so they always survive
  // (https://github.com/stryker-mutator/stryker-js/issues/6144)
  process.env.LUDUS_MUTATION = tests;
  process.env.LUDUS_MUTATION_SHARE = String(share);
  const results = await new Stryker({
    mutate: isFile(target) ? [target] : sourcesOf(target),
    reporters: ["progress-append-only"],
    plugins: ["@stryker-mutator/*", join(import.meta.dirname, "mutation/sample-checker.ts")],
    checkers: share < 1 ? ["sample"] : [],
    // half of them are checkers, which have little to do
    concurrency: share < 1 ? 4 : 2,
    incremental,
    incrementalFile: `.scratch/mutation/${target.replaceAll("/", "-")}.json`,
  }).runMutationTest();
  const sources = new Map<string, string[]>();
  return results
    .filter(({ status, statusReason }) => status !== "Ignored" && statusReason !== notSampled)
    .map(({ fileName, location, replacement, status }) => {
      const file = relative(root, fileName);
      const lines = sources.get(file) ?? readFileSync(join(root, file), "utf8").split("\n");
      sources.set(file, lines);
      return {
        file,
        line: location.start.line,
        lineText: lines[location.start.line - 1].trim(),
        original: onOneLine(textAt(lines, location)),
        replacement: onOneLine(replacement),
        outcome: outcomeOf(status),
      };
    });
}

/** What ships: no tests, suites or fixtures. */
function sourcesOf(folder: string): string[] {
  return globSync(`${folder}/**/*.ts`, { cwd: root }).filter(
    (path) => !(/\.(test|contract)\.ts$/.test(path) || /\/(contract|fixtures)\//.test(path)),
  );
}

interface Position {
  readonly line: number;
  readonly column: number;
}

/** Lines and columns from 1, the end exclusive. */
function textAt(
  lines: readonly string[],
  { start, end }: { readonly start: Position; readonly end: Position },
): string {
  const covered = lines.slice(start.line - 1, end.line);
  covered[covered.length - 1] = covered[covered.length - 1].slice(0, end.column - 1);
  covered[0] = covered[0].slice(start.column - 1);
  return covered.join("\n");
}

function outcomeOf(status: string): Outcome {
  switch (status) {
    case "Killed":
      return "killed";
    case "Timeout":
      return "timeout";
    case "Survived":
      return "survived";
    case "NoCoverage":
      return "no-coverage";
    default:
      return "invalid";
  }
}

const percent = (share: number) => `${Math.round(100 * share)} %`;

function print({ target, share }: Arguments, report: MutationReport): void {
  for (const survivor of report.survivors) console.log(survivorLine(survivor));
  for (const { file, original, replacement } of report.stale) {
    console.log(`equivalent-mutants.ts lists ${file}: ${original} -> ${replacement}, which did not survive: remove it`);
  }
  const sampled = share < 1 ? ` (a sample of ${percent(share)} of the mutants)` : "";
  console.log(`${target}: ${summaryLine(report)}${sampled}`);
}

/** The exit code. */
async function main(args: Arguments): Promise<number> {
  let mutants: TestedMutant[];
  try {
    mutants = await runStryker(args);
  } catch (error) {
    // for example a test that fails without any mutation; Stryker has logged which
    console.error(`No mutants were tested: ${errorText(error)}`);
    return 2;
  }
  const report = mutationReport(mutants, equivalentMutants);
  print(args, report);
  if (args.json)
    console.log(JSON.stringify({ target: args.target, share: args.share, minScore: args.minScore, ...report }));
  return report.score < args.minScore ? 1 : 0;
}

function argumentsOrProblem(): ReturnType<typeof readArguments> {
  try {
    return readArguments();
  } catch (error) {
    return { problem: errorText(error) };
  }
}

const read = argumentsOrProblem();
if (read === "help") {
  console.log(usage);
} else if ("problem" in read) {
  console.error(`${read.problem}\n\n${usage}`);
  process.exitCode = 2;
} else {
  process.exitCode = await main(read);
}
