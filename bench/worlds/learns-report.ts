import { rateBySize } from "../../src/schema/rate-by-size.ts";
import type { Pages } from "../pages.ts";
import { markdownTable, type Table } from "../table.ts";
import { benchWorlds } from "./envs.ts";
import { learnsFile, readRuns, validationFile, type WorldRun } from "./results.ts";
import type { RunSpec } from "./spec.ts";

const sizes: readonly RunSpec["size"][] = ["0.3M", "0.8M", "5M", "25M", "100M"];

/** Held-out success of imitation; at temperature 0.1 in brackets. */
export function ceilingsTable(runs: readonly WorldRun[]): Table {
  const made = runs.filter(({ method }) => method === "ceiling");
  const shown = sizes.filter((size) => made.some(({ spec }) => spec.size === size));
  const cell = (world: string, size: string) => {
    const run = made.find(({ spec }) => spec.world === world && spec.size === size);
    if (run === undefined) return "–";
    const { before, cold } = run.outcome;
    return `${before.mean.toFixed(2)}${cold === undefined ? "" : ` (${cold.toFixed(2)})`}`;
  };
  const worlds = Object.keys(benchWorlds).filter((world) => made.some(({ spec }) => spec.world === world));
  const count = (world: string) => made.find(({ spec }) => spec.world === world)!.spec.warmStart.demonstrations;
  return [
    ["world", "demonstrations", ...shown],
    ...worlds.map((world) => [world, count(world).toLocaleString("en-US"), ...shown.map((size) => cell(world, size))]),
  ];
}

/** One line for each run that chose settings, in the order they were made. */
function trialsTable(runs: readonly WorldRun[]): Table {
  const number = (value: number) => value.toLocaleString("en-US");
  const rows = runs.map(({ spec, outcome }) => {
    const { world, size, tokenizer, warmStart, learn } = spec;
    const { noise, demonstrations, steps, batchSize, learningRate } = warmStart;
    return [
      ...[world, size, `${tokenizer}`, typeof noise === "number" ? `${noise}` : noise.join(" ")],
      ...[number(demonstrations), `${number(steps)} x ${batchSize}`, learningRate.toExponential(1)],
      ...[learnedWith(learn), `${learn?.steps ?? 0} x ${learn?.tasksPerStep ?? 0}`, outcome.before.mean.toFixed(3)],
      ...[outcome.after?.mean.toFixed(3) ?? "–", (outcome.afterReward ?? outcome.beforeReward).toFixed(3)],
    ];
  });
  const shown = [
    "world",
    "size",
    "tokens",
    "noise",
    "demonstrations",
    "imitation",
    "rate",
    "learning",
    "steps x tasks",
  ];
  return [[...shown, "before", "after", "score"], ...rows];
}

/** The method, its rate where it was given, its options and its guide. */
function learnedWith(learn: WorldRun["spec"]["learn"]): string {
  if (learn === undefined) return "–";
  const { method, options, learningRate, guide } = learn;
  const said = JSON.stringify(options).slice(1, -1).replaceAll('"', "").replaceAll(":", ": ");
  return [method, learningRate?.toExponential(1), said, guide].filter((part) => part).join(", ");
}

export function ratesTable(runs: readonly WorldRun[]): Table {
  const made = runs.filter(({ method, spec }) => method === "rate" && spec.learn !== undefined);
  const rateOf = ({ spec }: WorldRun) => Number(spec.learn!.options.learningRate);
  const sorted = made.toSorted((a, b) => a.outcome.parameters - b.outcome.parameters || rateOf(a) - rateOf(b));
  return [
    ["parameters", "rate", "times the rule's", "before", "after", "divergence per step"],
    ...sorted.map((run) => {
      const { parameters, before, after, klPerStep } = run.outcome;
      return [
        parameters.toLocaleString("en-US"),
        rateOf(run).toExponential(1),
        (rateOf(run) / rateBySize(parameters)).toFixed(1),
        before.mean.toFixed(3),
        after?.mean.toFixed(3) ?? "–",
        klPerStep?.toExponential(1) ?? "–",
      ];
    }),
  ];
}

export function learnsPages(root: string): Pages {
  const runs = readRuns(root, learnsFile);
  const page = `# Ceilings and rates

Written by \`npm run bench -- what-learns\`; [what learns](../explain/what-learns.md) says what follows from it. One seed each.

## What imitation reaches

Held-out success after 1,500 steps on 128 demonstrations of the environment's expert each, without random turns, at temperature 1; at temperature 0.1 in brackets. A world that
imitation does not learn is not learned by reinforcement from the same steps either: it wants more demonstrations, another size, or another way of writing.

${markdownTable(ceilingsTable(runs))}

## The learning rate, by size

Function calling: imitation of demonstrations with random turns (700 steps of 64), then 60 steps of \`grpo({ miniBatches: 4 })\` with 64 tasks of 8 attempts, at a constant rate. "Divergence per step" is the mean over
the first ten steps of what the policy moves within a step, per token (k3). The rule is that of \`learningRate: "by-size"\`, 0.16 / √parameters.

${markdownTable(ratesTable(runs))}

The rule was chosen from these runs and is not checked on sizes that it was not chosen with. Runs on the GPU were made by a program before this one, with the same settings, and their intervals are Wilson's.

## Settings that were tried

Runs on other held-out tasks than those of [every world learned](worlds.md), by which its settings were chosen: seed 100, temperature 1. "Noise" is the share of random turns in a demonstration, or of each
demonstration in turn. Trials before 16 November 2026, 21:00 were not kept.

${markdownTable(trialsTable(readRuns(root, validationFile)))}

Every run with its settings is in [what-learns.json](../../bench/results/what-learns.json) and [validation.json](../../bench/results/validation.json).
`;
  return { "docs/results/what-learns.md": page };
}
