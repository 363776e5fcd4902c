import { type AboutRun, aboutLine, aboutRun, busyWarning } from "../about-run.ts";
import type { Benchmark, BenchmarkContext } from "../benchmark.ts";
import { parseJsonOption } from "../json-option.ts";
import { writeRecord } from "../pages.ts";
import { groupSize, latency, type Measured, measure, staleness, tasksPerStep, turnTokens } from "./workload.ts";

const help = `Asynchronous against synchronous training, with a tool whose latency is log-normal, after one and after three turns: steps a
second, and how long the trainer waits. Takes about six minutes. Writes bench/results/async.json.

Usage: npm run bench -- async [options]

  --json  print the figures as one JSON object instead of the table

Example:
  npm run bench -- async --json
`;

const rounds = 2;
/** The middle of it counts: as many again as the buffer takes to fill and to empty. */
const steps = 3 * staleness;

interface Round {
  readonly turns: number;
  readonly sync: Measured;
  readonly async: Measured;
}

export interface AsyncResults {
  readonly about: AboutRun;
  readonly workload: Readonly<Record<string, number>>;
  readonly summary: Readonly<Record<string, number>>;
  readonly rounds: readonly Round[];
}

export const asyncBenchmark: Benchmark = {
  name: "async",
  summary: "rollouts ahead of the updates, against one step after the other",
  help,
  async run(args, context) {
    const { json } = parseJsonOption("async", args);
    const results = await measureAll(args, context);
    writeRecord(context.root, "async", results);
    if (json) console.log(JSON.stringify(results.summary));
    else {
      const lines = Object.entries(results.summary).map(([name, value]) => `${name.padEnd(24)} ${value.toFixed(2)}`);
      console.log(`\n${lines.join("\n")}\n\n${aboutLine(results.about, { node: process.versions.node }, 0)}`);
    }
  },
};

async function measureAll(
  args: readonly string[],
  { root, signal, progress }: BenchmarkContext,
): Promise<AsyncResults> {
  const about = aboutRun("async", args, root);
  const warning = busyWarning(about);
  if (warning !== undefined) progress(warning);
  const measured: Round[] = [];
  for (let round = 0; round < rounds; round++) {
    for (const turns of [1, 3]) {
      const sync = await measure(turns, false, steps, signal);
      const async = await measure(turns, true, steps, signal);
      signal.throwIfAborted();
      measured.push({ turns, sync, async });
      const rates = [sync, async].map(({ stepsPerSecond }) => stepsPerSecond.toFixed(2)).join(" and ");
      progress(`${turns} turns: ${rates} steps a second, the trainer waits ${async.trainerWaits!.toFixed(3)}`);
    }
  }
  const workload = { tasksPerStep, groupSize, turnTokens, staleness, steps, ...latency };
  return { about, workload, summary: summarise(measured), rounds: measured };
}

function summarise(measured: readonly Round[]): Record<string, number> {
  const of = (turns: number) => measured.filter((round) => round.turns === turns);
  const ratio = (turns: number) =>
    median(of(turns).map((each) => each.async.stepsPerSecond / each.sync.stepsPerSecond));
  const waits = (turns: number) => median(of(turns).map((each) => each.async.trainerWaits!));
  return {
    async_vs_batch_1turn: ratio(1),
    async_vs_batch_3turns: ratio(3),
    trainer_waits: Math.max(waits(1), waits(3)),
  };
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
}
