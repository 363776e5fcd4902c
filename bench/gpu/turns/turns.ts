import { parseArgs } from "node:util";
import type { Engine } from "../../../src/engine/engine.ts";
import { parseModelConfig } from "../../../src/engine/model/model-config.ts";
import { torch } from "../../../src/engine/torch/torch.ts";
import { LudusError } from "../../../src/errors.ts";
import { aboutRun } from "../../about-run.ts";
import type { Benchmark, BenchmarkContext } from "../../benchmark.ts";
import { readRecord, writePages, writeRecord } from "../../pages.ts";
import { median } from "../../statistics.ts";
import { rolloutSeconds } from "../learn.ts";
import { models } from "../models.ts";
import { runPython } from "../python.ts";
import { busyWhile } from "./busy.ts";
import { type Cell, kinds, newTokens, planRollouts } from "./cells.ts";
import { playSingle, playTurns } from "./play.ts";
import { type CellResult, gpuTurnsPages, summary, type TurnsResults } from "./report.ts";

const help = `Many short turns on a GPU: rollouts of four turns, driven from here, beside as many new tokens in a single turn,
and beside transformers' generate on the same GPU, turn by turn. Writes bench/results/gpu-turns.json and
docs/results/gpu-turns.md.

Usage: npm run bench -- gpu-turns [options]

  --rounds <n>      how often each is repeated, besides five to warm up; 3 by default
  --device <name>   "cuda" by default; "cpu" only shows that the program runs, with a small model
  --models <names>  25M and 0.5B by default
  --rollouts <ns>   64,512,2048 by default; more than 512 with turns of mixed lengths only, without transformers
  --skip-baselines  leave transformers out
  --skip-learning   leave out the steps of a training run
  --page            only write the page again from bench/results/gpu-turns.json
  --json            print the four figures as one JSON object on the last line

Example:
  LUDUS_PYTHON=.venv/bin/python npm run bench -- gpu-turns --json
`;

const named = { "25M": models.quarter, "0.5B": models.half, small: models.small };
/** Beyond it, transformers would take minutes for a round, and turns are of mixed lengths only. */
const mostBaselineRollouts = 512;
/** Busy shares are read over at least this long. */
const busySeconds = 1.5;

export const gpuTurnsBenchmark: Benchmark = {
  name: "gpu-turns",
  summary: "many short turns on a GPU",
  help,
  async run(args, context) {
    const { values } = parseArgs({
      args: [...args],
      options: {
        rounds: { type: "string", default: "3" },
        device: { type: "string", default: "cuda" },
        models: { type: "string" },
        rollouts: { type: "string" },
        "skip-baselines": { type: "boolean", default: false },
        "skip-learning": { type: "boolean", default: false },
        page: { type: "boolean", default: false },
        json: { type: "boolean", default: false },
      },
    });
    if (values.page) {
      writePages(context.root, gpuTurnsPages(context.root));
      const kept = readRecord<TurnsResults>(context.root, "gpu-turns");
      if (kept !== undefined) console.log(JSON.stringify(summary(kept)));
      return;
    }
    const onGpu = values.device.startsWith("cuda");
    const about = aboutRun("gpu-turns", args, context.root);
    const counts = (values.rollouts ?? (onGpu ? "64,512,2048" : "8")).split(",").map(Number);
    const cells: CellResult[] = [];
    let versions: Pick<TurnsResults, "device" | "torch" | "transformers"> = { device: values.device };
    for (const model of (values.models ?? (onGpu ? "25M,0.5B" : "small")).split(",")) {
      const config = named[model as keyof typeof named];
      if (config === undefined) {
        throw new LudusError("bad-option", {
          got: `--models ${model}`,
          expected: `some of ${Object.keys(named).join(",")}`,
        });
      }
      const wanted = counts.flatMap((rollouts) =>
        kinds
          .filter(({ name }) => rollouts <= mostBaselineRollouts || name === "mixed")
          .map((kind): Cell => ({ model, rollouts, kind })),
      );
      const measured = await measureModel(context, config, wanted, values.device, Number(values.rounds));
      if (!values["skip-baselines"]) {
        const compared = measured.filter(({ rollouts }) => rollouts <= mostBaselineRollouts);
        const found = await baselines(context, config, compared, values.device);
        versions = { device: found.device, torch: found.torch, transformers: found.transformers };
        for (const [i, cell] of compared.entries()) Object.assign(cell, found.rates[i]);
      }
      cells.push(...measured);
    }
    const steps = values["skip-learning"] || !onGpu ? [] : await rolloutSeconds(context);
    const results: TurnsResults = { about, ...versions, cells, rolloutSeconds: steps };
    if (onGpu) {
      writeRecord(context.root, "gpu-turns", results);
      writePages(context.root, gpuTurnsPages(context.root));
    }
    console.log(values.json ? JSON.stringify(summary(results)) : JSON.stringify(results, null, 1));
  },
};

async function measureModel(
  { progress, signal }: BenchmarkContext,
  config: object,
  cells: readonly Cell[],
  device: string,
  rounds: number,
): Promise<CellResult[]> {
  const maxRows = Math.max(...cells.map(({ rollouts }) => rollouts));
  const engine = await torch({ model: parseModelConfig(config), device, maxRows });
  try {
    const results: CellResult[] = [];
    for (const cell of cells) {
      signal.throwIfAborted();
      const single = await rate(engine, cell, rounds, playSingle);
      const play = await rate(engine, cell, rounds, playTurns);
      const gpuBusy = await busyWhile(async () => {
        const until = performance.now() + 1000 * busySeconds;
        for (let round = 100; performance.now() < until; round++) {
          await playTurns(engine, planRollouts(cell, engine.info.vocabularySize, round), round);
        }
      });
      const { model, rollouts, kind } = cell;
      const seconds = median(play.seconds);
      progress(
        `${model}, ${rollouts} rollouts, ${kind.name}: ${seconds.toFixed(3)} s, ${Math.round(play.rate)} tokens/s, ` +
          `${(play.rate / single.rate).toFixed(2)} of a single turn, busy ${gpuBusy?.toFixed(2)}`,
      );
      results.push({
        model,
        rollouts,
        kind: kind.name,
        fresh: kind.fresh,
        observation: kind.observation,
        seconds: play.seconds,
        tokensPerSecond: play.rate,
        singleTokensPerSecond: single.rate,
        gpuBusy,
      });
    }
    return results;
  } finally {
    await engine.close();
  }
}

type Play = typeof playTurns;

/** CUDA graphs are recorded for the sizes that occur: once in a training run, here before the time begins. */
const warmup = 5;

/** Seconds of each round after warm-up, and the median of their rates in new tokens per second. */
async function rate(engine: Engine, cell: Cell, rounds: number, play: Play) {
  const seconds: number[] = [];
  const rates: number[] = [];
  for (let round = 0; round < rounds + warmup; round++) {
    const plans = planRollouts(cell, engine.info.vocabularySize, round);
    const start = performance.now();
    await play(engine, plans, round);
    const took = (performance.now() - start) / 1000;
    if (round < warmup) continue;
    seconds.push(took);
    rates.push(newTokens(plans) / took);
  }
  return { seconds, rate: median(rates) };
}

interface Baselines {
  readonly device: string;
  readonly torch: string;
  readonly transformers: string;
  readonly rates: readonly { readonly generate: number; readonly recompute: number }[];
}

async function baselines(
  context: BenchmarkContext,
  config: object,
  cells: readonly CellResult[],
  device: string,
): Promise<Baselines> {
  const wanted = cells.map(({ rollouts, fresh, observation }) => ({ rollouts, fresh, observation }));
  const args = ["--config", JSON.stringify(config), "--cells", JSON.stringify(wanted), "--device", device];
  return (await runPython(context, "bench/gpu/turn_baselines.py", args)) as Baselines;
}
