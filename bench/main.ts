// Measures, and keeps what was measured with machine and command; see README.md.
//
//     npm run bench -- engine --json

import { join } from "node:path";
import { LudusError } from "../src/errors.ts";
import { asyncBenchmark } from "./async/async.ts";
import type { Benchmark } from "./benchmark.ts";
import { boxesBenchmark } from "./boxes/boxes.ts";
import { browserBenchmark } from "./browser/browser.ts";
import { clusterBenchmark } from "./cluster/cluster.ts";
import { engineBenchmark } from "./engine/engine.ts";
import { gpuBenchmark } from "./gpu/gpu.ts";
import { gpuLearnBenchmark } from "./gpu/learn.ts";
import { gpuTurnsBenchmark } from "./gpu/turns/turns.ts";
import { promptsBenchmark } from "./prompts/prompts.ts";
import { quickstartBenchmark } from "./quickstart/quickstart.ts";
import { rolloutsBenchmark } from "./rollouts/rollouts.ts";
import { scalingBenchmark } from "./scaling/scaling.ts";
import { toolsBenchmark } from "./tools/tools.ts";
import { turnsBenchmark } from "./turns/turns.ts";
import { learnsBenchmark } from "./worlds/learns.ts";
import { worldsBenchmark } from "./worlds/worlds.ts";

const benchmarks: readonly Benchmark[] = [
  engineBenchmark,
  turnsBenchmark,
  scalingBenchmark,
  rolloutsBenchmark,
  asyncBenchmark,
  toolsBenchmark,
  promptsBenchmark,
  quickstartBenchmark,
  boxesBenchmark,
  clusterBenchmark,
  worldsBenchmark,
  learnsBenchmark,
  browserBenchmark,
  gpuBenchmark,
  gpuTurnsBenchmark,
  gpuLearnBenchmark,
];

const help = `Usage: npm run bench -- <name> [options]

${benchmarks.map(({ name, summary }) => `  ${name.padEnd(10)} ${summary}`).join("\n")}

  --help   what a benchmark measures, and its options: npm run bench -- engine --help

Example:
  npm run bench -- engine --rounds 3
`;

/** Returns the exit status: 0 done, 1 failed, 2 not understood, 130 stopped by Ctrl-C. */
async function main([name, ...args]: readonly string[]): Promise<number> {
  if (name === undefined || name === "--help" || name === "-h") {
    process.stdout.write(help);
    return 0;
  }
  const benchmark = benchmarks.find((known) => known.name === name);
  if (benchmark === undefined) {
    const expected = `one of ${benchmarks.map((known) => known.name).join(", ")}`;
    const error = new LudusError("unknown-benchmark", {
      got: `"${name}"`,
      expected,
      hint: "See npm run bench -- --help.",
    });
    process.stderr.write(`${error.message}\n`);
    return 2;
  }
  if (args.includes("--help") || args.includes("-h")) {
    process.stdout.write(benchmark.help);
    return 0;
  }
  return await runUntilStopped(benchmark, args);
}

async function runUntilStopped(benchmark: Benchmark, args: readonly string[]): Promise<number> {
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(name, () => stop.abort());
  const progress = (line: string) => process.stderr.write(`${line}\n`);
  try {
    await benchmark.run(args, { root: join(import.meta.dirname, ".."), signal: stop.signal, progress });
    return 0;
  } catch (error) {
    if (stop.signal.aborted) {
      progress("stopped; what had not ended was not written");
      return 130;
    }
    if (error instanceof Error && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS")) {
      progress(`${error.message}\nSee npm run bench -- ${benchmark.name} --help.`);
      return 2;
    }
    if (!(error instanceof LudusError)) throw error;
    progress(error.message);
    return 1;
  }
}

process.exitCode = await main(process.argv.slice(2));
