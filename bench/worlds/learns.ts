import { parseArgs } from "node:util";
import { LudusError } from "../../src/errors.ts";
import { aboutRun } from "../about-run.ts";
import type { Benchmark } from "../benchmark.ts";
import { writePages } from "../pages.ts";
import { textTable } from "../table.ts";
import { benchWorlds } from "./envs.ts";
import { ceilingsTable, learnsPages, ratesTable } from "./learns-report.ts";
import { parseEngine, parseJobs, playRuns, type WantedRun } from "./play-run.ts";
import { isSameSpec, keepRun, learnsFile, readRuns, type WorldRun } from "./results.ts";
import type { RunOutcome, RunSpec } from "./spec.ts";

const help = `What the learner depends on. Ceilings: how well imitation of the clean expert does in every world, by size of the model. Rates: where
GRPO gets in sixty steps from the same warm start, by size and learning rate. Each run that ends is kept in
bench/results/what-learns.json, and docs/results/what-learns.md is written from there; runs that are kept are not made again.

Usage: npm run bench -- what-learns [options]

  --only <part>    ceilings or rates
  --engine <name>  embedded or cuda: only runs that are made there; sizes up to 0.8M are embedded in rates
  --jobs <n>       runs at once, 1 by default
  --page           nothing is run; the page is written from what is kept
  --json           one JSON object as the last line

Example:
  npm run bench -- what-learns --only rates --engine embedded
`;

type Size = RunSpec["size"];

const imitationRates: Readonly<Record<Size, number>> = {
  "0.3M": 2e-3,
  "0.8M": 1.5e-3,
  "5M": 1e-3,
  "25M": 6e-4,
  "100M": 3e-4,
};
const demonstrations: Readonly<Record<string, number>> = {
  "countdown-3": 40_000,
  "function-calling": 40_000,
  "mini-forms": 15_000,
  "screen-episodes": 10_000,
  "web-shop": 8000,
  retail: 8000,
  household: 4000,
};

function ceilings(): RunSpec[] {
  const sizes: readonly Size[] = ["0.8M", "5M", "25M"];
  const worlds = Object.keys(benchWorlds).filter((world) => !["bandit", "lock", "key-door"].includes(world));
  return sizes.flatMap((size) =>
    worlds.map((world): RunSpec => {
      const { [world]: count = 20_000 } = demonstrations;
      const learningRate = imitationRates[size];
      const warmStart = { demonstrations: count, noise: 0, steps: 1500, batchSize: 128, learningRate };
      return { world, seed: 0, engine: "cuda", size, tokenizer: 320, warmStart, evalTasks: 500 };
    }),
  );
}

const rates: Readonly<Record<Size, readonly number[]>> = {
  "0.3M": [1e-4, 3e-4, 1e-3],
  "0.8M": [3e-5, 1e-4, 3e-4, 1e-3],
  "5M": [3e-5, 1e-4, 3e-4, 1e-3],
  "25M": [1e-5, 3e-5, 1e-4, 3e-4],
  "100M": [5e-6, 1.5e-5, 5e-5, 1.5e-4],
};

function rateRuns(): RunSpec[] {
  return (Object.keys(rates) as Size[]).flatMap((size) =>
    rates[size].map(
      (learningRate): RunSpec => ({
        world: "function-calling",
        seed: 0,
        engine: size === "0.3M" || size === "0.8M" ? "embedded" : "cuda",
        size,
        tokenizer: 320,
        warmStart: {
          demonstrations: 12_000,
          noise: 0.6,
          steps: 700,
          batchSize: 64,
          learningRate: imitationRates[size],
        },
        learn: { method: "grpo", options: { miniBatches: 4, learningRate }, steps: 60, tasksPerStep: 64 },
        evalTasks: 500,
      }),
    ),
  );
}

const parts = { ceilings, rates: rateRuns };

export const learnsBenchmark: Benchmark = {
  name: "what-learns",
  summary: "imitation ceilings by size, learning rates by size",
  help,
  async run(args, context) {
    const { names, engine, jobs, isPageOnly, json } = parseOptions(args);
    const { date, commit, processor, cores } = aboutRun("what-learns", args, context.root);
    const kept = readRuns(context.root, learnsFile);
    const wanted = (isPageOnly ? [] : names)
      .flatMap((name) => {
        const method = name === "rates" ? "rate" : "ceiling";
        return parts[name]().map((spec): WantedRun => ({ method, label: labelOf(spec), spec }));
      })
      .filter(({ spec }) => engine === undefined || spec.engine === engine)
      .filter(({ spec }) => !kept.some((run) => isSameSpec(run.spec, spec)));
    const keep = ({ method, spec }: WantedRun, outcome: RunOutcome) => {
      const run: WorldRun = { method, spec, outcome, about: { date, commit, processor, cores }, jobs };
      keepRun(context.root, learnsFile, run, (other) => isSameSpec(other.spec, spec));
    };
    await playRuns(wanted, { jobs, keep }, context);
    const runs = readRuns(context.root, learnsFile);
    writePages(context.root, learnsPages(context.root));
    console.log(
      json
        ? JSON.stringify({ runs: runs.length })
        : [ceilingsTable(runs), ratesTable(runs)].map(textTable).join("\n\n"),
    );
  },
};

function labelOf({ world, size, learn }: RunSpec): string {
  return `${world}, ${size}${learn === undefined ? "" : `, rate ${learn.options.learningRate}`}`;
}

function parseOptions(args: readonly string[]) {
  const refuse = (got: string, expected: string) =>
    new LudusError("bad-option", { got, expected, hint: "See npm run bench -- what-learns --help." });
  const parsed = () =>
    parseArgs({
      args: [...args],
      options: {
        only: { type: "string" },
        engine: { type: "string" },
        jobs: { type: "string", default: "1" },
        page: { type: "boolean", default: false },
        json: { type: "boolean", default: false },
      },
    }).values;
  let values: ReturnType<typeof parsed>;
  try {
    values = parsed();
  } catch {
    throw refuse(args.join(" "), "--only, --engine, --jobs, --page or --json");
  }
  const { only, page, json } = values;
  const all = Object.keys(parts) as (keyof typeof parts)[];
  const names = only === undefined ? all : all.filter((name) => name === only);
  if (names.length === 0) throw refuse(`--only ${only}`, all.join(" or "));
  const engine = parseEngine(values.engine, refuse);
  const jobs = parseJobs(values.jobs, refuse);
  return { names, engine, jobs, isPageOnly: page, json };
}
