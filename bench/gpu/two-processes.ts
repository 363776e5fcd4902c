// Trainer and sampler as two processes on one GPU, against `train` with one. Prints one JSON line on stdout, progress on stderr.
//
//     LUDUS_PYTHON=python3 npx node bench/gpu/two-processes.ts
//     npx node bench/gpu/two-processes.ts --device cpu --size tiny --steps 5 --tasks 1 --imitation 1 --demonstrations 32 --held-out 4

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { delegate } from "../../src/engine/delegate.ts";
import { type ModelConfig, tiny } from "../../src/engine/model/model-config.ts";
import type { Sampler } from "../../src/engine/sampler.ts";
import { splitEngine } from "../../src/engine/split-engine.ts";
import { torch } from "../../src/engine/torch/torch.ts";
import { torchSampler } from "../../src/engine/torch/torch-sampler.ts";
import { searchQa } from "../../src/env/environments/search-qa.ts";
import { areal, cosine, fromScratch, imitate, train } from "../../src/index.ts";
import { metric } from "../../src/schema/metric-names.ts";
import type { RunEvent } from "../../src/schema/run-event.ts";
import type { LearningPolicy } from "../../src/train/learning-policy.ts";
import { middle } from "./learn.ts";

const { values } = parseArgs({
  options: {
    device: { type: "string", default: "cuda" },
    size: { type: "string", default: "middle" },
    steps: { type: "string", default: "40" },
    tasks: { type: "string", default: "64" },
    imitation: { type: "string", default: "120" },
    staleness: { type: "string", default: "2" },
    weights: { type: "string", default: "shared,files" },
    "held-out": { type: "string", default: "300" },
    demonstrations: { type: "string", default: "2000" },
    /** Of each run at most. */
    seconds: { type: "string", default: "45" },
  },
});
const [steps, tasksPerStep, staleness] = [values.steps, values.tasks, values.staleness].map(Number);
const [groupSize, seed] = [8, 0];
const env = searchQa({ entities: 40, maxHops: 3 });
const algorithm = areal({ groupSize, learningRate: 1e-4 });
const worker = { device: values.device, maxRows: 512, ...(values.device === "cpu" ? { threads: 1 } : {}) };
const say = (line: string) => process.stderr.write(`${line}\n`);

interface Run {
  readonly rolloutsPerSecond: number;
  /** Mean success of each tenth of the run: over samples, whatever time they took. */
  readonly curve: readonly number[];
  readonly heldOut: number;
  readonly trainerWaits?: number;
  readonly age?: number;
  /** Milliseconds in which the sampler took the weights of a step, the median. */
  readonly useMs?: number;
}

async function learn(name: string, policy: LearningPolicy, more: { async?: { staleness: number } }): Promise<Run> {
  const ends: { atMs: number; metrics: Readonly<Record<string, number>> }[] = [];
  const record = (event: RunEvent) => {
    if (event.type !== "step-end") return;
    ends.push({ atMs: performance.now(), metrics: event.metrics });
    if (ends.length % 10 === 1)
      say(`${name}: step ${ends.length}, success ${event.metrics[metric.success]?.toFixed(3)}`);
  };
  const { after } = await train({
    env,
    policy,
    algorithm,
    steps,
    tasksPerStep,
    seed,
    eval: { tasks: Number(values["held-out"]) },
    monitors: [{ name: "bench", record }],
    budget: { seconds: Number(values.seconds) },
    ...more,
  });
  if (ends.length < 2) throw new Error(`${name}: ${ends.length} steps within ${values.seconds} s; raise --seconds`);
  // kernels are compiled at first, and at the end rollouts no longer run ahead
  const first = Math.max(0, Math.min(5, ends.length - 2 - staleness));
  const counted = ends.slice(
    first,
    Math.max(first + 2, more.async === undefined ? ends.length : ends.length - staleness),
  );
  const seconds = (counted.at(-1)!.atMs - counted[0].atMs) / 1000;
  const mean = (key: string) => average(counted.slice(1).map(({ metrics }) => metrics[key] ?? 0));
  const tenth = Math.max(1, Math.ceil(ends.length / 10));
  const starts = Array.from({ length: Math.ceil(ends.length / tenth) }, (_, i) => i * tenth);
  return {
    rolloutsPerSecond: Math.round(((counted.length - 1) * tasksPerStep * groupSize) / seconds),
    curve: starts.map((at) => round(average(ends.slice(at, at + tenth).map(({ metrics }) => metrics[metric.success])))),
    heldOut: round(after!.success.mean),
    ...(more.async === undefined
      ? {}
      : { trainerWaits: round(mean(metric.trainerWaits)), age: round(mean(metric.stalenessMean)) }),
  };
}

/** The same sampler, with the time that each `use` takes. */
function timed(sampler: Sampler, times: number[]): Sampler {
  return {
    ...sampler,
    async use(weights) {
      const started = performance.now();
      await sampler.use(weights);
      times.push(performance.now() - started);
    },
  };
}

async function twoProcesses(made: LearningPolicy, how: "shared" | "files"): Promise<Run> {
  const times: number[] = [];
  const { tokenizer } = made;
  const options = {
    ...worker,
    weights: how,
    ...(tokenizer === undefined ? {} : { tokenizer }),
  };
  const sampler = timed(torchSampler(options), times);
  const news: string[] = [];
  const onSampler = ({ state, reason = "" }: { state: string; reason?: string }) =>
    void news.push(`${state} ${reason}`);
  // the trainer outlives this run: it is not closed with the samplers
  const trainer = delegate(made.engine, { close: async () => {} });
  const engine = splitEngine({ trainer, samplers: [sampler], useMs: 120_000, onSampler });
  try {
    const run = await learn(`two processes, ${how}`, { ...made, engine }, { async: { staleness } });
    if (news.length !== 1) say(`the sampler was: ${news.join("; ")}`);
    // the first one starts the process
    return { ...run, useMs: round(median(times.slice(1))) };
  } finally {
    await engine.close();
  }
}

const average = (numbers: readonly number[]) => numbers.reduce((sum, value) => sum + value, 0) / numbers.length;
const median = (numbers: readonly number[]) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
const round = (value: number) => Number(value.toFixed(3));
const sizes: Readonly<Record<string, (vocabularySize: number) => ModelConfig>> = {
  middle,
  tiny: (vocabularySize) => tiny({ vocabularySize, contextLength: 512 }),
};

const folder = mkdtempSync(join(tmpdir(), "ludus-two-processes-"));
const started = performance.now();
const made = await fromScratch({
  size: sizes[values.size] ?? middle,
  tokenizer: "bytes",
  engine: (start) => torch({ ...start, ...worker }),
})(env, seed);
try {
  const warmStart = imitate({
    demonstrations: Number(values.demonstrations),
    noise: 0.45,
    steps: Number(values.imitation),
    batchSize: 128,
    learningRate: cosine(6e-4, 0.1),
  });
  await train({ env, policy: made, algorithm, warmStart, steps: 0, seed, eval: { tasks: 0 } });
  await made.engine.save(folder);
  say(`warm start after ${((performance.now() - started) / 1000).toFixed(0)} s`);
  const sync = await learn("one process", made, {});
  const apart: Record<string, Run> = {};
  for (const how of values.weights.split(",") as ("shared" | "files")[]) {
    await made.engine.load(folder, { optimizer: "fresh" });
    apart[how] = await twoProcesses(made, how);
  }
  const best = Object.values(apart)[0];
  const summary = {
    device: made.engine.info.device,
    parameters: made.engine.info.parameters,
    rollouts_a_step: tasksPerStep * groupSize,
    two_processes_vs_sync: round(best.rolloutsPerSecond / sync.rolloutsPerSecond),
    largest_gap_over_samples: round(
      Math.max(...sync.curve.flatMap((value, i) => (i in best.curve ? [Math.abs(value - best.curve[i])] : []))),
    ),
    sync,
    ...apart,
    seconds: round((performance.now() - started) / 1000),
  };
  console.log(JSON.stringify(summary));
} finally {
  await made.engine.close();
  rmSync(folder, { recursive: true, force: true });
}
