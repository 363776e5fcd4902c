import { meanInterval } from "../../src/eval/index.ts";
import { aboutRun } from "../about-run.ts";
import { type Pages, readRecord, writePages, writeRecord } from "../pages.ts";
import { median } from "../statistics.ts";
import { markdownTable, type Table } from "../table.ts";
import type { QuickstartResults, QuickstartRun } from "./results.ts";

export function readResults(root: string): QuickstartResults {
  const kept = readRecord<QuickstartResults>(root, "quickstart");
  if (kept !== undefined) return kept;
  const { command, processor, cores, memoryBytes, system } = aboutRun("quickstart", [], root);
  return { about: { command, processor, cores, memoryBytes, system }, runs: [] };
}

/** Puts a run in place of the one of the same program and seed, and writes the page anew. */
export function writeResults(root: string, run: QuickstartRun): void {
  const { about, runs } = readResults(root);
  const others = runs.filter(({ program, seed }) => program !== run.program || seed !== run.seed);
  const results = { about, runs: [...others, run].sort((a, b) => a.seed - b.seed || (a.program < b.program ? -1 : 1)) };
  writeRecord(root, "quickstart", results);
  writePages(root, quickstartPages(root));
}

export function quickstartPages(root: string): Pages {
  const results = readRecord<QuickstartResults>(root, "quickstart");
  return results === undefined ? {} : { "docs/results/quickstart.md": page(results) };
}

interface Pair {
  readonly seed: number;
  readonly earlier?: QuickstartRun;
  readonly now?: QuickstartRun;
}

function pairsOf(runs: readonly QuickstartRun[]): Pair[] {
  return [...Map.groupBy(runs, ({ seed }) => seed)].map(([seed, both]) => ({
    seed,
    ...Object.fromEntries(both.map((run) => [run.program, run])),
  }));
}

const fields = ["before", "after"] as const;

export function seedsTable(runs: readonly QuickstartRun[]): Table {
  const show = (value: number | undefined, digits: number) => value?.toFixed(digits) ?? "–";
  const cells = (run: QuickstartRun | undefined) => [
    show(run?.before, 3),
    show(run?.after, 3),
    show(run?.seconds, 0),
    show(run?.processorSeconds, 0),
  ];
  const head = ["before", "after", "seconds", "processor seconds"];
  return [
    ["seed", ...head.map((name) => `earlier: ${name}`), ...head.map((name) => `now: ${name}`)],
    ...pairsOf(runs).map(({ seed, earlier, now }) => [`${seed}`, ...cells(earlier), ...cells(now)]),
  ];
}

/** Means over the seeds that both have, differences seed by seed, and ratios of times where both were timed. */
export function summary(runs: readonly QuickstartRun[]) {
  const pairs = pairsOf(runs).flatMap(({ earlier, now }) => (earlier && now ? [{ earlier, now }] : []));
  const over = (value: (pair: (typeof pairs)[number]) => number | undefined) =>
    pairs.map(value).filter((each) => each !== undefined);
  const ratio = (field: "seconds" | "processorSeconds") =>
    over(({ earlier, now }) => (earlier[field] && now[field] ? earlier[field] / now[field] : undefined));
  const of = (field: (typeof fields)[number]) => ({
    earlier: meanInterval(over(({ earlier }) => earlier[field])),
    now: meanInterval(over(({ now }) => now[field])),
    difference: meanInterval(over(({ earlier, now }) => now[field] - earlier[field])),
  });
  return {
    seeds: pairs.length,
    before: of("before"),
    after: of("after"),
    timesFaster: { seconds: ratio("seconds"), processorSeconds: ratio("processorSeconds") },
  };
}

function page({ about, runs }: QuickstartResults): string {
  const { seeds, before, after, timesFaster } = summary(runs);
  const interval = ({ mean, low, high }: (typeof before)["now"]) =>
    `${mean.toFixed(3)}${Number.isFinite(low) ? ` [${low.toFixed(3)}, ${high.toFixed(3)}]` : ""}`;
  const row = (name: string, of: typeof before) => [name, ...[of.earlier, of.now, of.difference].map(interval)];
  const means = [["held-out success", "earlier", "now", "difference"], row("before", before), row("after", after)];
  const commits = [...new Set(runs.flatMap(({ program, commit }) => (program === "earlier" ? [commit] : [])))];
  const times = (ratios: readonly number[]) =>
    ratios.length === 0 ? "was not measured" : `${median(ratios).toFixed(2)} (median of ${ratios.length} pairs)`;
  return `# The quickstart

Written by \`npm run bench -- quickstart\`: \`npm start -- --json --seed n\` beside that of an earlier commit (${commits.join(", ") || "none yet"}, all with the same settings). A transformer from random
weights imitates demonstrations in which nearly half of all turns are random; "before" is its success then, on 500 held-out questions, and "after" that at
the end of reinforcement learning. The settings were chosen with seed 0 in another world, \`searchQa({ seed: 1 })\`. The threshold of
\`earlyStop\` was raised from 0.95 to 0.97 after a first run of seed 3 had ended at 0.92.

Means over ${seeds} seeds with 95 % intervals (Student's t); differences are seed by seed.

${markdownTable(means)}

Earlier seconds over those of now: ${times(timesFaster.seconds)}; processor seconds: ${times(timesFaster.processorSeconds)}.

${markdownTable(seedsTable(runs))}

${about.processor}, ${about.cores} cores. Threads, dates and what other processes used meanwhile are with each run in [quickstart.json](../../bench/results/quickstart.json).
Where other work ran beside a run, its seconds say little, and its processor seconds are the measure; runs without times were trained for their success alone.
`;
}
