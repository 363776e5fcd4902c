import { setTimeout as sleep } from "node:timers/promises";
import { createLimiter } from "../../src/limiter.ts";
import { createRng, type Rng } from "../../src/random.ts";
import { serveTools } from "../../src/server/tool-server.ts";
import type { ActionTool } from "../../src/server/tools/action-tool.ts";
import { aboutLine, aboutRun, busyWarning } from "../about-run.ts";
import { asyncPages } from "../async/report.ts";
import type { Benchmark, BenchmarkContext } from "../benchmark.ts";
import { parseJsonOption } from "../json-option.ts";
import { writePages, writeRecord } from "../pages.ts";
import type { ToolsResults, ToolsRound } from "./results.ts";

const help = `Tools called by trajectory against tools called by batch, over Verl-Tool's protocol, with log-normal latencies, after one and after
three turns. Sampling is simulated: so many sequences at once, each turn of some length. Takes about two minutes, nearly all of it waiting.
Writes bench/results/tools.json, and docs/results/async.md where that is recorded.

Usage: npm run bench -- tools [options]

  --json  print the figures as one JSON object instead of the table

Example:
  npm run bench -- tools --json
`;

/** Chosen before anything was measured; the tool's latency is that of the benchmark "async". */
const workload = {
  trajectories: 512,
  /** Sequences that are sampled at once. */
  slots: 64,
  turnMedianMs: 200,
  turnSigma: 0.3,
  toolMedianMs: 300,
  toolSigma: 1,
  /** Calls that the tool server runs at once. */
  toolsAtOnce: 128,
  rounds: 3,
} as const;

export const toolsBenchmark: Benchmark = {
  name: "tools",
  summary: "tools called by trajectory, against by batch, over Verl-Tool's protocol",
  help,
  async run(args, context) {
    const { json } = parseJsonOption("tools", args);
    const about = aboutRun("tools", args, context.root);
    const warning = busyWarning(about);
    if (warning !== undefined) context.progress(warning);
    const rounds = await measureAll(context);
    const ratio = (turns: number) =>
      median(rounds.filter((round) => round.turns === turns).map((each) => each.batchSeconds / each.trajectorySeconds));
    const summary = { trajectory_vs_batch_1turn: ratio(1), trajectory_vs_batch_3turns: ratio(3) };
    writeRecord(context.root, "tools", { about, workload, summary, rounds } satisfies ToolsResults);
    writePages(context.root, asyncPages(context.root));
    if (json) return console.log(JSON.stringify(summary));
    const lines = Object.entries(summary).map(([name, value]) => `${name.padEnd(28)} ${value.toFixed(2)}`);
    console.log(`\n${lines.join("\n")}\n\n${aboutLine(about, { node: process.versions.node }, 0)}`);
  },
};

async function measureAll({ signal, progress }: BenchmarkContext): Promise<ToolsRound[]> {
  const measured: ToolsRound[] = [];
  for (let round = 0; round < workload.rounds; round++) {
    for (const turns of [1, 3]) {
      const batchSeconds = await seconds(round, signal, (play) => byBatch(turns, play));
      const trajectorySeconds = await seconds(round, signal, (play) => byTrajectory(turns, play));
      measured.push({ turns, batchSeconds, trajectorySeconds });
      progress(
        `${turns} turns: ${batchSeconds.toFixed(1)} s by batch, ${trajectorySeconds.toFixed(1)} s by trajectory`,
      );
    }
  }
  return measured;
}

interface Play {
  /** One turn of one trajectory. */
  sample(): Promise<void>;
  /** The calls of some trajectories in one request. */
  call(ids: readonly number[]): Promise<void>;
}

const all = Array.from({ length: workload.trajectories }, (_, id) => id);

/** Everybody waits for the slowest turn, then for the slowest tool. */
async function byBatch(turns: number, { sample, call }: Play): Promise<void> {
  for (let turn = 0; turn < turns; turn++) {
    await Promise.all(all.map(sample));
    await call(all);
  }
  await Promise.all(all.map(sample));
}

async function byTrajectory(turns: number, { sample, call }: Play): Promise<void> {
  const play = async (id: number) => {
    for (let turn = 0; turn < turns; turn++) {
      await sample();
      await call([id]);
    }
    await sample();
  };
  await Promise.all(all.map(play));
}

async function seconds(seed: number, signal: AbortSignal, run: (play: Play) => Promise<void>): Promise<number> {
  const [turnRng, toolRng] = [createRng(seed), createRng(1000 + seed)];
  const wait: ActionTool = {
    name: "wait",
    usage: "<wait>",
    priority: () => 1,
    async run() {
      await sleep(logNormal(toolRng, workload.toolMedianMs, workload.toolSigma), undefined, { signal });
      return { observation: "ok" };
    },
  };
  const server = await serveTools({ tools: [wait], concurrency: workload.toolsAtOnce });
  const slot = createLimiter(workload.slots);
  const sample = () =>
    slot(() => sleep(logNormal(turnRng, workload.turnMedianMs, workload.turnSigma), undefined, { signal }));
  const call = async (ids: readonly number[]) => {
    const body = JSON.stringify({
      trajectory_ids: ids,
      actions: ids.map(() => "<wait>"),
      finish: ids.map(() => false),
    });
    const response = await fetch(server.url, { method: "POST", body, signal });
    const { valids } = (await response.json()) as { valids: boolean[] };
    if (valids.length !== ids.length || valids.includes(false)) throw new Error("a call failed");
  };
  const started = performance.now();
  try {
    await run({ sample, call });
    return (performance.now() - started) / 1000;
  } finally {
    await server.close();
  }
}

function logNormal(rng: Rng, medianMs: number, sigma: number): number {
  return medianMs * Math.exp(sigma * rng.normal());
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
}
