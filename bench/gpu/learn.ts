import { parseArgs } from "node:util";
import { type ModelConfig, tiny } from "../../src/engine/model/model-config.ts";
import { torch } from "../../src/engine/torch/torch.ts";
import type { Env } from "../../src/env/env.ts";
import { searchQa } from "../../src/env/environments/search-qa.ts";
import { sokoban } from "../../src/env/environments/sokoban.ts";
import { type Algorithm, cosine, fromScratch, grpo, imitate, train } from "../../src/index.ts";
import { metric } from "../../src/schema/metric-names.ts";
import { aboutRun } from "../about-run.ts";
import type { Benchmark, BenchmarkContext } from "../benchmark.ts";
import { readRecord, writePages, writeRecord } from "../pages.ts";
import { gpuPages } from "./report.ts";

const help = `A model of about 25M parameters learns Sokoban and search-QA through the PyTorch engine: imitation, then GRPO,
and with --size tiny one of 0.3M for comparison. Writes
bench/results/gpu-learning.json and docs/results/gpu.md.

Usage: npm run bench -- gpu-learn [options]

  --device <name>   "cuda" by default; "embedded" for the embedded engine
  --only <name>     sokoban or search-qa
  --seconds <n>     of each run at most; 240 by default
  --steps <n>       of each run's reinforcement learning at most; 300 by default
  --size <name>     middle (25M, the default) or tiny (0.3M)

Example:
  LUDUS_PYTHON=.venv/bin/python npm run bench -- gpu-learn --only sokoban
`;

interface Course {
  readonly env: Env;
  readonly demonstrations: number;
  readonly noise: number;
  readonly imitationSteps: number;
  readonly algorithm: Algorithm;
}

const courses: Readonly<Record<string, Course>> = {
  // rooms with a solution of up to ten moves, the published size
  sokoban: {
    env: sokoban({ maxSolution: 10 }),
    demonstrations: 6000,
    noise: 0.5,
    imitationSteps: 250,
    algorithm: grpo({ groupSize: 8, learningRate: 3e-5 }),
  },
  "search-qa": {
    env: searchQa({ entities: 40, maxHops: 3 }),
    demonstrations: 8000,
    noise: 0.45,
    imitationSteps: 400,
    algorithm: grpo({ groupSize: 8, learningRate: cosine(1e-4, 0.2) }),
  },
};

/** Llama's shape, about 25M parameters. */
export function middle(vocabularySize: number): ModelConfig {
  const shape = { width: 512, feedForwardWidth: 1408, layers: 8, heads: 8, keyValueHeads: 8, headWidth: 64 };
  return { ...tiny({ vocabularySize, contextLength: 512 }), ...shape };
}

export const gpuLearnBenchmark: Benchmark = {
  name: "gpu-learn",
  summary: "a model of 25M learns through the PyTorch engine",
  help,
  async run(args, context) {
    const { values } = parseArgs({
      args: [...args],
      options: {
        device: { type: "string", default: "cuda" },
        only: { type: "string" },
        seconds: { type: "string", default: "240" },
        steps: { type: "string", default: "300" },
        size: { type: "string", default: "middle" },
      },
    });
    const about = aboutRun("gpu-learn", args, context.root);
    for (const [name, course] of Object.entries(courses)) {
      if (values.only !== undefined && values.only !== name) continue;
      const result = await learn(context, name, course, values);
      const kept = readRecord<object>(context.root, "gpu-learning");
      writeRecord(context.root, "gpu-learning", { ...kept, [`${name} ${values.size}`]: { about, ...result } });
      writePages(context.root, gpuPages(context.root));
      console.log(JSON.stringify({ name, ...result, curve: undefined }));
    }
  },
};

/** Seconds of the rollouts of each step of a short run of search-QA with 25M parameters, 512 rollouts a step. */
export async function rolloutSeconds(context: BenchmarkContext): Promise<number[]> {
  const course = { ...courses["search-qa"], demonstrations: 2000, imitationSteps: 120 };
  const options = { device: "cuda", seconds: "60", steps: "16", size: "middle", evalTasks: 50 };
  const { curve } = await learn(context, "search-qa", course, options);
  return curve.map(({ rollout }) => rollout);
}

interface LearnOptions {
  readonly device: string;
  readonly seconds: string;
  readonly steps: string;
  readonly size: string;
  readonly evalTasks?: number;
}

interface CurvePoint {
  readonly step: number;
  readonly success: number;
  readonly seconds: number;
  readonly entropy: number;
  readonly mismatch: number;
  /** Seconds of the step's rollouts. */
  readonly rollout: number;
}

async function learn(
  { progress, signal }: BenchmarkContext,
  name: string,
  { env, demonstrations, noise, imitationSteps, algorithm }: Course,
  { device, seconds, steps, size, evalTasks = 500 }: LearnOptions,
) {
  const curve: CurvePoint[] = [];
  const times: Record<string, number> = {};
  const started = performance.now();
  let learningFrom = 0;
  const result = await train({
    env,
    seed: 0,
    signal,
    algorithm,
    steps: Number(steps),
    tasksPerStep: 64,
    policy: fromScratch({
      size: size === "middle" ? middle : "tiny",
      tokenizer: "bytes",
      ...(device === "embedded" ? {} : { engine: (start) => torch({ ...start, device, maxRows: 512 }) }),
    }),
    warmStart: imitate({
      demonstrations,
      noise,
      steps: imitationSteps,
      batchSize: 128,
      learningRate: cosine(6e-4, 0.1),
    }),
    eval: { tasks: evalTasks },
    monitors: [
      {
        name: "curve",
        record(event) {
          if (event.type === "phase-start") progress(`${name}: ${event.phase}, ${elapsed(started)} s`);
          if (event.type === "phase-start" && event.phase !== "imitate") learningFrom = performance.now();
          if (event.type === "warning") progress(event.message);
          if (event.type === "eval-end") progress(`${name}: held-out ${event.metrics[metric.evalSuccess]?.toFixed(3)}`);
          if (event.type !== "step-end" || event.metrics[metric.success] === undefined) return;
          const point = {
            step: event.step,
            success: event.metrics[metric.success],
            seconds: elapsed(learningFrom),
            entropy: event.metrics[metric.entropy] ?? 0,
            mismatch: event.metrics[metric.mismatchMax] ?? 0,
            rollout: event.metrics[metric.seconds("rollout")] ?? 0,
          };
          curve.push(point);
          for (const stage of ["rollout", "credit", "update"]) {
            times[stage] = (times[stage] ?? 0) + (event.metrics[metric.seconds(stage)] ?? 0);
          }
          if (curve.length % 20 === 1) progress(`${name}: step ${curve.length}, success ${point.success.toFixed(3)}`);
        },
      },
    ],
    earlyStop: { success: 0.995, window: 10 },
    budget: { seconds: Number(seconds) },
  });
  await result.policy.engine.close();
  return {
    parameters: result.policy.engine.info.parameters,
    reason: result.reason,
    steps: curve.length,
    before: result.before?.success,
    after: result.after?.success,
    seconds: elapsed(started),
    learningSeconds: elapsed(learningFrom),
    times,
    curve,
  };
}

function elapsed(since: number): number {
  return Math.round((performance.now() - since) / 100) / 10;
}
