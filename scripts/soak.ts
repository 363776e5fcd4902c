// A training run of very many small steps, to see what grows: memory after garbage collection, open files, the time of a step, the store.
// Smallest model, world and batch; everything else as a run has it: the embedded engine, the SQLite store on disk, checkpoints, monitors.
//
//     npx node scripts/soak.ts --steps 100000
//     npx node scripts/soak-kernels.ts --minutes 60        the other soak, of V8's flags

import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { median } from "../bench/statistics.ts";
import { tiny } from "../src/engine/model/model-config.ts";
import { defineEnv } from "../src/env/define-env.ts";
import {
  consoleMonitor,
  fromScratch,
  grpo,
  jsonlMonitor,
  liveDoctor,
  type Monitor,
  tensorboardMonitor,
  train,
} from "../src/index.ts";
import { makeScore } from "../src/schema/score.ts";
import { generated } from "../src/task/generated.ts";

const help = `Usage: node scripts/soak.ts [options]

  --steps <n>      steps to make (1000)
  --folder <dir>   keep the run there; a temporary folder that is removed by default
  --samples <n>    how often memory is measured (100)
  --help           show this text

The last line is one JSON object. Exits with 1 where memory, files or the time of a step grew.

Example: node scripts/soak.ts --steps 100000`;

interface Sample {
  step: number;
  rssMb: number;
  heapMb: number;
  /** Buffers outside of the heap. */
  externalMb: number;
  openFiles: number;
}

const mb = (bytes: number) => Math.round(bytes / 2 ** 10 / 102.4) / 10;

function countOpenFiles(): number {
  try {
    return readdirSync("/proc/self/fd").length;
  } catch {
    return 0;
  }
}

function folderBytes(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

function takeSample(step: number): Sample {
  globalThis.gc!();
  const { rss, heapUsed, external } = process.memoryUsage();
  return { step, rssMb: mb(rss), heapMb: mb(heapUsed), externalMb: mb(external), openFiles: countOpenFiles() };
}

/** One turn, and chance decides: the policy has nothing to learn, so that the last step is as much work as the first. */
const env = defineEnv({
  name: "parity",
  tasks: generated((rng) => ({ word: String.fromCharCode(97 + rng.integer(26)) })),
  start: ({ task }) => ({ state: { paid: 0 }, say: task.word }),
  act({ state, answer }) {
    state.paid = (answer.codePointAt(0) ?? 0) % 2;
    return { done: true };
  },
  score: ({ state }) => makeScore({ outcome: state.paid }, state.paid === 1),
  limits: { turns: 1, turnTokens: 2 },
});

/** Step times and memory, as a monitor sees them. */
class Gauge implements Monitor {
  readonly name = "gauge";
  readonly samples: Sample[] = [];
  /** Wall and processor milliseconds of each step. */
  readonly wallMs: Float64Array;
  readonly processorMs: Float64Array;
  readonly #every: number;
  #last = { wall: performance.now(), cpu: process.cpuUsage() };
  #toldAt = 0;

  constructor(steps: number, samples: number) {
    this.wallMs = new Float64Array(steps);
    this.processorMs = new Float64Array(steps);
    this.#every = Math.max(1, Math.floor(steps / samples));
  }

  record(event: Parameters<Monitor["record"]>[0]): void {
    if (event.type !== "step-end") return;
    const { step } = event;
    const { user, system } = process.cpuUsage(this.#last.cpu);
    this.wallMs[step] = performance.now() - this.#last.wall;
    this.processorMs[step] = (user + system) / 1000;
    if ((step + 1) % this.#every === 0) this.samples.push(takeSample(step + 1));
    this.#tell(step);
    this.#last = { wall: performance.now(), cpu: process.cpuUsage() };
  }

  #tell(step: number): void {
    if (performance.now() - this.#toldAt < (process.stderr.isTTY ? 1_000 : 30_000)) return;
    this.#toldAt = performance.now();
    const { rssMb, heapMb, openFiles } = this.samples.at(-1) ?? takeSample(step);
    const text = `step ${step + 1} of ${this.wallMs.length}: ${rssMb} MB, heap ${heapMb} MB, ${openFiles} files, ${this.wallMs[step].toFixed(1)} ms`;
    process.stderr.write(process.stderr.isTTY ? `\r${text}\u001b[K` : `${text}\n`);
  }
}

/** Medians of the first and last tenth. */
function tenths(values: Float64Array | readonly number[]): { first: number; last: number } {
  const tenth = Math.max(1, Math.floor(values.length / 10));
  const round = (value: number) => Math.round(value * 100) / 100;
  return { first: round(median([...values.slice(0, tenth)])), last: round(median([...values.slice(-tenth)])) };
}

function report({ samples, wallMs, processorMs }: Gauge, steps: number, folder: string) {
  const of = (name: keyof Sample) => tenths(samples.map((sample) => sample[name]));
  const [rss, heap, external, files] = [of("rssMb"), of("heapMb"), of("externalMb"), of("openFiles")];
  const [wall, processor] = [wallMs, processorMs].map((all) => tenths(all.subarray(0, steps)));
  return {
    ...{ steps, rss_mb_first: rss.first, rss_mb_last: rss.last },
    ...{ heap_mb_first: heap.first, heap_mb_last: heap.last },
    ...{ external_mb_first: external.first, external_mb_last: external.last },
    ...{ step_ms_first: wall.first, step_ms_last: wall.last },
    ...{ step_cpu_ms_first: processor.first, step_cpu_ms_last: processor.last },
    ...{ open_files_first: files.first, open_files_last: files.last },
    ...{ folder_mb: mb(folderBytes(folder)) },
  };
}

async function soak(steps: number, samples: number, folder: string): Promise<void> {
  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort());
  const gauge = new Gauge(steps, samples);
  // a terminal that nobody sees: all of it is drawn at every step
  const nowhere = { write: () => true, isTTY: true, columns: 80 };
  const result = await train({
    env,
    policy: fromScratch({
      tokenizer: "bytes",
      threads: 1,
      size: (vocabularySize) => tiny({ vocabularySize, width: 16, headWidth: 16, layers: 1, contextLength: 32 }),
    }),
    algorithm: grpo({ groupSize: 2, learningRate: 1e-6 }),
    ...{ steps, tasksPerStep: 1, run: join(folder, "run"), signal: stop.signal },
    monitors: [
      consoleMonitor({ stream: nowhere }),
      jsonlMonitor({ file: join(folder, "events.jsonl") }),
      tensorboardMonitor({ directory: join(folder, "tensorboard") }),
      liveDoctor().monitor,
      gauge,
    ],
  });
  await result.policy.engine.close();
  if (process.stderr.isTTY) process.stderr.write("\n");
  const figures = report(gauge, result.steps, folder);
  console.log(JSON.stringify(figures));
  const grew =
    figures.rss_mb_last > figures.rss_mb_first * 1.1 + 10 || figures.heap_mb_last > figures.heap_mb_first * 1.1 + 2;
  const slowed = figures.step_cpu_ms_last > figures.step_cpu_ms_first * 1.15;
  process.exitCode = grew || slowed || figures.open_files_last > figures.open_files_first ? 1 : 0;
}

function whole(name: string, text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 10) return value;
  throw new Error(`--${name}: got "${text}", expected a whole number from 10`);
}

/** The same command with the flag that lets a program collect garbage. */
function startAgain(): void {
  const child = spawn(process.execPath, ["--expose-gc", ...process.argv.slice(1)], { stdio: "inherit" });
  process.on("SIGINT", () => {});
  child.once("exit", (code) => {
    process.exitCode = code ?? 1;
  });
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      steps: { type: "string", default: "1000" },
      samples: { type: "string", default: "100" },
      folder: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return console.log(help);
  const [steps, samples] = [whole("steps", values.steps), whole("samples", values.samples)];
  if (globalThis.gc === undefined) return startAgain();
  const folder = values.folder ?? mkdtempSync(join(tmpdir(), "ludus-soak-"));
  try {
    await soak(steps, samples, folder);
  } finally {
    if (values.folder === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
}
