import { loadavg } from "node:os";
import { aboutRun, busyWarning } from "../about-run.ts";
import type { Benchmark, BenchmarkContext } from "../benchmark.ts";
import { checkPostgres, measureCluster } from "../cluster/cluster.ts";
import { writePages, writeRecord } from "../pages.ts";
import { parseRoundsOptions } from "../rounds-options.ts";
import { textTable } from "../table.ts";
import { asyncPages, asyncTable } from "./report.ts";
import { type AsyncResults, type Round, summarise } from "./results.ts";
import { measure, workload } from "./workload.ts";

const usualRounds = 2;

const help = `Asynchronous against synchronous training, with a tool whose latency is log-normal, after one and after three turns: steps a
second, and how long the trainer waits; and groups a second through one PostgreSQL server, as \`cluster\` measures them. Takes about ten
minutes, and needs PostgreSQL (scripts/setup-postgres.sh). Writes bench/results/async.json and docs/results/async.md.

Usage: npm run bench -- async [options]

  --rounds <n>  rounds of synchronous and asynchronous runs (${usualRounds})
  --json        print the figures as one JSON object instead of the table

Example:
  npm run bench -- async --json
`;

export const asyncBenchmark: Benchmark = {
  name: "async",
  summary: "rollouts ahead of the updates, against one step after the other",
  help,
  async run(args, context) {
    const { json, rounds } = parseRoundsOptions("async", args, usualRounds);
    checkPostgres();
    const about = aboutRun("async", args, context.root);
    const warning = busyWarning(about);
    if (warning !== undefined) context.progress(warning);
    const cluster = await measureCluster(context);
    const measured = await measureRounds(rounds, context);
    const summary = { ...summarise(measured), ...cluster.summary };
    const results: AsyncResults = {
      about,
      versions: cluster.versions,
      workload,
      summary,
      rounds: measured,
      cluster: cluster.measured,
    };
    writeRecord(context.root, "async", results);
    writePages(context.root, asyncPages(context.root));
    console.log(json ? JSON.stringify(summary) : `\n${textTable(asyncTable(results))}`);
  },
};

async function measureRounds(rounds: number, { signal, progress }: BenchmarkContext): Promise<Round[]> {
  const measured: Round[] = [];
  for (let round = 0; round < rounds; round++) {
    for (const turns of [1, 3]) {
      const sync = await measure(turns, false, signal);
      const async = await measure(turns, true, signal);
      signal.throwIfAborted();
      measured.push({ turns, sync, async, load: loadavg()[0] });
      const rates = [sync, async].map(({ stepsPerSecond }) => stepsPerSecond.toFixed(2)).join(" and ");
      progress(`${turns} turns: ${rates} steps a second, the trainer waits ${async.trainerWaits!.toFixed(3)}`);
    }
  }
  return measured;
}
