import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";
import {
  type BenchSizes,
  medianSeconds,
  randomBatch,
  randomPrompts,
  sampleAll,
  updateOnce,
} from "../../src/cli/measure-engine.ts";
import { parseModelConfig } from "../../src/engine/model/model-config.ts";
import { type TorchOptions, torch } from "../../src/engine/torch/torch.ts";
import { LudusError } from "../../src/errors.ts";
import { aboutRun } from "../about-run.ts";
import type { Benchmark, BenchmarkContext } from "../benchmark.ts";
import { readRecord, writePages, writeRecord } from "../pages.ts";
import { median } from "../statistics.ts";
import { models } from "./models.ts";
import { runPython } from "./python.ts";
import { type GpuResults, gpuPages } from "./report.ts";
import { grpoRound, mismatch } from "./workload.ts";

const help = `The PyTorch engine, driven from here, beside transformers on the same GPU: sampling 256 x 256 new tokens against
generate, an update against an eager loop, a GRPO step by stage, and adapters on a model of the size of 7B. Writes
bench/results/gpu.json and docs/results/gpu.md.

Usage: npm run bench -- gpu [options]

  --rounds <n>     how often each is repeated, besides two to warm up; 5 by default
  --device <name>  "cuda" by default; "cpu" only shows that the program runs, with a small model
  --skip-7b        leave the large model out
  --only <part>    update or 7b; the rest stays as it was measured before
  --json           print the two ratios as one JSON object on the last line

Example:
  LUDUS_PYTHON=.venv/bin/python npm run bench -- gpu --json
`;

export const gpuBenchmark: Benchmark = {
  name: "gpu",
  summary: "the PyTorch engine on a GPU beside transformers",
  help,
  async run(args, context) {
    const options = { rounds: { type: "string", default: "5" }, device: { type: "string", default: "cuda" } } as const;
    const flags = {
      "skip-7b": { type: "boolean", default: false },
      only: { type: "string" },
      json: { type: "boolean", default: false },
    } as const;
    const { values } = parseArgs({ args: [...args], options: { ...options, ...flags } });
    const onGpu = values.device.startsWith("cuda");
    const rounds = Number(values.rounds);
    const sizes: BenchSizes = onGpu
      ? { sequences: 256, prompt: 128, fresh: 256, rows: 64, length: 512, rounds, warmup: 2 }
      : { sequences: 8, prompt: 16, fresh: 16, rows: 4, length: 32, rounds, warmup: 1 };
    const model = onGpu ? models.half : models.small;
    const about = aboutRun("gpu", args, context.root);
    const { only } = values;
    if (only !== undefined && only !== "update" && only !== "7b") {
      throw new LudusError("bad-option", { got: `--only ${only}`, expected: "update or 7b" });
    }
    const before = only === undefined ? undefined : readRecord<GpuResults>(context.root, "gpu");
    const engineOptions = { model: parseModelConfig(model), device: values.device };
    const engine =
      only === "7b"
        ? before!.engine
        : { ...before?.engine, ...(await measureEngine(context, engineOptions, sizes, only === "update")) };
    const baselines =
      only === "7b"
        ? before!.baselines
        : { ...before?.baselines, ...(await runBaselines(context, model, values.device, sizes, only === "update")) };
    const withSeven = only === undefined ? onGpu && !values["skip-7b"] : only === "7b";
    const sevens = withSeven ? await measureSeven(context, values.device, sizes) : (before?.seven ?? {});
    const ratios = {
      sample_vs_generate: engine.sampleTokensPerSecond! / baselines.generate_tokens_per_s,
      train_vs_eager: engine.trainTokensPerSecond! / baselines.eager_tokens_per_s,
    };
    const later = [...(before?.later ?? []), ...(only === undefined ? [] : [{ part: only, about }])];
    const results = { about: before?.about ?? about, later, sizes, ratios, engine, baselines, seven: { ...sevens } };
    if (onGpu) {
      writeRecord(context.root, "gpu", results);
      writePages(context.root, gpuPages(context.root));
    }
    console.log(values.json ? JSON.stringify(ratios) : JSON.stringify(results, null, 1));
  },
};

async function measureEngine(
  { progress }: BenchmarkContext,
  options: TorchOptions,
  sizes: BenchSizes,
  onlyUpdate: boolean,
): Promise<Partial<GpuResults["engine"]>> {
  const engine = await torch({ maxRows: 512, ...options });
  try {
    const rows = (round: number) => randomBatch(engine, sizes, round);
    const trainSeconds = await medianSeconds(sizes, rows, (batch) => updateOnce(engine, batch));
    const trainTokensPerSecond = (sizes.rows * sizes.length) / trainSeconds;
    progress(`training: ${Math.round(trainTokensPerSecond)} tokens/s`);
    if (onlyUpdate) return { parameters: engine.info.parameters, trainTokensPerSecond };
    const sampled = sizes.sequences * sizes.fresh;
    const prompts = (round: number) => randomPrompts(engine, sizes, round);
    const sampleSeconds = await medianSeconds(sizes, prompts, (made, round) => sampleAll(engine, sizes, made, round));
    progress(`sampling: ${Math.round(sampled / sampleSeconds)} tokens/s`);
    const stages: { sample: number; update: number }[] = [];
    const grouped = (round: number) => randomPrompts(engine, sizes, round, 8);
    const stepSeconds = await medianSeconds(sizes, grouped, async (made, round) => {
      stages.push(await grpoRound(engine, sizes, made, round));
    });
    const warm = stages.slice(sizes.warmup);
    progress(`GRPO step: ${stepSeconds.toFixed(3)} s`);
    return {
      parameters: engine.info.parameters,
      sampleTokensPerSecond: sampled / sampleSeconds,
      trainTokensPerSecond,
      step: {
        seconds: stepSeconds,
        sample: median(warm.map(({ sample }) => sample)),
        update: median(warm.map(({ update }) => update)),
      },
      mismatch: await mismatch(engine, sizes),
    };
  } finally {
    await engine.close();
  }
}

/** Adapters on a large model: how fast, and what share of the rate of the card's own matrix products. */
async function measureSeven({ progress }: BenchmarkContext, device: string, sizes: BenchSizes) {
  const log: string[] = [];
  const model = parseModelConfig(models.seven);
  const engine = await torch({ model, device, lora: { rank: 16 }, log: (line) => log.push(line) });
  try {
    const rows = (round: number) => randomBatch(engine, sizes, round);
    const seconds = await medianSeconds(sizes, rows, (batch) => updateOnce(engine, batch));
    const tokensPerSecond = (sizes.rows * sizes.length) / seconds;
    progress(`7B with adapters: ${Math.round(tokensPerSecond)} tokens/s`);
    // frozen weights need no gradient of their own: 4 instead of 6 operations a parameter and token
    return {
      parameters: engine.info.parameters,
      tokensPerSecond,
      memoryGib: usedMemory(),
      tflops: (4 * engine.info.parameters * tokensPerSecond) / 1e12,
    };
  } finally {
    await engine.close();
  }
}

/** What processes hold of the first card, in GiB; 0 where nobody tells. */
function usedMemory(): number {
  const args = ["--query-gpu=memory.used", "--format=csv,noheader,nounits"];
  const { stdout } = spawnSync("nvidia-smi", args, { encoding: "utf8" });
  return Number.parseFloat(stdout ?? "0") / 1024;
}

async function runBaselines(
  context: BenchmarkContext,
  model: object,
  device: string,
  { sequences, prompt, fresh, rows, length, rounds, warmup }: BenchSizes,
  onlyUpdate: boolean,
): Promise<Record<string, number>> {
  const numbers = { sequences: onlyUpdate ? 0 : sequences, prompt, new: fresh, rows, length, rounds, warmup };
  const args = Object.entries(numbers).flatMap(([name, value]) => [`--${name}`, String(value)]);
  return (await runPython(context, "bench/gpu/baselines.py", [
    ...["--config", JSON.stringify(model), "--device", device],
    ...args,
  ])) as Record<string, number>;
}
