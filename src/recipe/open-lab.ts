import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defined } from "../defined.ts";
import { LudusError } from "../errors.ts";
import { type EvalReport, evaluate } from "../eval/evaluate.ts";
import type { Monitor } from "../monitor/monitor.ts";
import { metric } from "../schema/metric-names.ts";
import { hashText } from "../task/seeds.ts";
import type { LearningPolicy } from "../train/learning-policy.ts";
import { grpo } from "../train/presets/grpo.ts";
import { train } from "../train/train-sync.ts";
import { aboutModel } from "./about-arms.ts";
import type { ArmRecord, TaskValues } from "./claim.ts";
import { withOtherTasks } from "./other-tasks.ts";
import type { ArmConfig, Beginning, BeginOptions, Lab, Trained } from "./recipe.ts";

export interface LabOptions {
  readonly seed: number;
  readonly signal: AbortSignal;
  /** Whether an arm is to be run here. */
  wants(arm: string): boolean;
  keep(record: ArmRecord): void;
  /** Told to the recipe; `wants` answers accordingly. */
  isClaimedOnly: boolean;
  /** Settings are being chosen: evaluations are on other held-out tasks than those that are reported. */
  isTuning: boolean;
  /** Finished warm starts; none are kept where it is absent. */
  cache?: string;
  /** Called at every step of every training. */
  onProgress(line: string): void;
}

/** A lab that cleans up: `close` ends the engines and removes their weights. */
export interface OpenLab extends Lab {
  close(): Promise<void>;
}

// held-out tasks of recipes are drawn with this, whatever the seed, so that seeds are compared on the same tasks
const heldOut = { tasks: 300, seed: 99 };

export function openLab(options: LabOptions): OpenLab {
  const { seed, signal, wants, keep, isClaimedOnly, isTuning, cache, onProgress } = options;
  const closers: (() => Promise<void>)[] = [];
  // of the arm that is being made: which policy it trained, or else looked at
  let used: { trained?: LearningPolicy; evaluated?: LearningPolicy } = {};

  async function runTraining<Data, State>(arm: string, config: Training<Data, State>): Promise<Trained> {
    const history: Readonly<Record<string, number>>[] = [];
    used.trained ??= config.policy;
    const monitor: Monitor = {
      name: "recipe",
      record(event) {
        if (event.type !== "step-end") return;
        history.push(event.metrics);
        onProgress(progressOf(seed, arm, history.length, event.metrics));
      },
    };
    const monitors = [...(config.monitors ?? []), monitor];
    const either = config.signal === undefined ? signal : AbortSignal.any([signal, config.signal]);
    const result = await train({ seed, eval: { tasks: 0 }, ...config, monitors, signal: either });
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
      const { env } = options;
      const warmStart = { ...defined({ cache }), ...options.warmStart };
      // an algorithm is asked for even where no step is made with it
      const nothing = { algorithm: grpo(), steps: 0 };
      seconds = (await runTraining("warm start", { env, policy, warmStart, ...nothing })).seconds;
    }
    await policy.engine.save(folder);
    const restore = () => policy.engine.load(folder);
    const trainOn: Beginning<Data, State>["trainOn"] = (arm, config) =>
      runTraining(arm, { env: options.env, policy, ...config });
    return {
      policy,
      seconds,
      restore,
      async train(arm, config) {
        await restore();
        return trainOn(arm, config);
      },
      trainOn,
      evaluate({ env = options.env, ...chosen } = {}) {
        const { split = "test", ...rest } = chosen;
        used.evaluated ??= policy;
        const reported = Math.max(rest.tasks ?? 0, heldOut.tasks);
        const from = isTuning ? withOtherTasks(env, split, reported) : { env, split };
        return evaluate(from.env, policy, { ...heldOut, signal, ...rest, split: from.split });
      },
    };
  }

  return {
    seed,
    signal,
    isClaimedOnly,
    begin,
    async arm(name, body) {
      if (!wants(name)) return;
      signal.throwIfAborted();
      const taken: Measures = {};
      const curves: Record<string, readonly number[]> = {};
      const others: ArmRecord[] = [];
      used = {};
      const started = performance.now();
      await body({
        measure(values) {
          Object.assign(taken, values);
        },
        curve(curve, values) {
          curves[curve] = values;
        },
        also(other, values) {
          others.push({ seed, arm: other, ...recorded(values), curves: {}, seconds: 0 });
        },
      });
      const seconds = (performance.now() - started) / 1000;
      const made = used.trained ?? used.evaluated;
      const about = made === undefined ? {} : { about: aboutModel(made.engine.info) };
      // the arm itself last: where a kill comes in between, it is run again and so are they
      for (const other of others) keep({ ...other, ...about });
      keep({ seed, arm: name, ...recorded(taken), curves, seconds, ...about });
    },
    async close() {
      for (const close of closers.splice(0)) await close();
    },
  };
}

type Measures = Record<string, number | EvalReport>;

function recorded(values: Readonly<Measures>): Pick<ArmRecord, "measures" | "tasks"> {
  const of = <Value>(choose: (value: number | EvalReport) => Value | undefined) =>
    Object.fromEntries(
      Object.entries(values).flatMap(([name, value]) => {
        const chosen = choose(value);
        return chosen === undefined ? [] : [[name, chosen] as const];
      }),
    );
  return {
    measures: of((value) => (typeof value === "number" ? value : value.success.mean)),
    tasks: of((value) => (typeof value === "number" ? undefined : byTask(value))),
  };
}

/** In the order of their ids, so that lists of the same tasks can be compared. */
function byTask({ successByTask }: EvalReport): TaskValues {
  const ids = Object.keys(successByTask).sort();
  return { of: hashText(ids.join(" ")).toString(16), values: ids.map((id) => successByTask[id]) };
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
