import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LudusError } from "../errors.ts";
import { evaluate } from "../eval/evaluate.ts";
import type { Monitor } from "../monitor/monitor.ts";
import { metric } from "../schema/metric-names.ts";
import type { LearningPolicy } from "../train/learning-policy.ts";
import { grpo } from "../train/presets/grpo.ts";
import { train } from "../train/train-sync.ts";
import type { ArmConfig, Beginning, BeginOptions, Lab, Trained } from "./recipe.ts";

export interface LabOptions {
  readonly seed: number;
  readonly signal: AbortSignal;
  measure(arm: string, measures: Readonly<Record<string, number>>): void;
  curve(arm: string, name: string, values: readonly number[]): void;
  /** Called at every step of every training. */
  onProgress(line: string): void;
}

/** A lab that cleans up: `close` ends the engines and removes their weights. */
export interface OpenLab extends Lab {
  close(): Promise<void>;
}

// held-out tasks of recipes are drawn with this, whatever the seed, so that seeds are compared on the same tasks
const heldOut = { tasks: 300, seed: 99 };

export function openLab({ seed, signal, measure, curve, onProgress }: LabOptions): OpenLab {
  const closers: (() => Promise<void>)[] = [];

  async function runTraining<Data, State>(arm: string, config: Training<Data, State>): Promise<Trained> {
    const history: Readonly<Record<string, number>>[] = [];
    const monitor: Monitor = {
      name: "recipe",
      record(event) {
        if (event.type !== "step-end") return;
        history.push(event.metrics);
        onProgress(progressOf(seed, arm, history.length, event.metrics));
      },
    };
    const monitors = [...(config.monitors ?? []), monitor];
    const result = await train({ seed, eval: { tasks: 0 }, ...config, monitors, signal });
    if (signal.aborted) throw new LudusError("stopped", { got: `a stop during ${arm}`, expected: "a whole recipe" });
    return { ...result, history };
  }

  async function begin<Data, State>(options: BeginOptions<Data, State>): Promise<Beginning<Data, State>> {
    const policy = await options.policy(options.env, seed);
    closers.push(() => policy.engine.close());
    const folder = await mkdtemp(join(tmpdir(), "ludus-recipe-"));
    closers.push(() => rm(folder, { recursive: true, force: true }));
    let seconds = 0;
    if (options.warmStart !== undefined) {
      const { env, warmStart } = options;
      // an algorithm is asked for even where no step is made with it
      const nothing = { algorithm: grpo(), steps: 0 };
      seconds = (await runTraining("warm start", { env, policy, warmStart, ...nothing })).seconds;
    }
    await policy.engine.save(folder);
    return {
      policy,
      seconds,
      restore: () => policy.engine.load(folder),
      async train(arm, config) {
        await policy.engine.load(folder);
        return runTraining(arm, { env: options.env, policy, ...config });
      },
      evaluate: ({ env = options.env, ...chosen } = {}) => evaluate(env, policy, { ...heldOut, signal, ...chosen }),
    };
  }

  return {
    seed,
    begin,
    measure,
    curve,
    async close() {
      for (const close of closers.splice(0)) await close();
    },
  };
}

type Training<Data, State> = ArmConfig<Data, State> & {
  env: BeginOptions<Data, State>["env"];
  policy: LearningPolicy;
};

function progressOf(seed: number, arm: string, step: number, metrics: Readonly<Record<string, number>>): string {
  const success = metrics[metric.success];
  const loss = metrics[metric.loss];
  const news = success === undefined ? `loss ${loss?.toFixed(3) ?? "-"}` : `success ${success.toFixed(2)}`;
  return `seed ${seed}: ${arm}, step ${step}, ${news}`;
}
