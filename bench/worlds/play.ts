// One run of `npm run worlds`, in a process of its own: its specification is the only argument, its outcome the last line.

import { defined } from "../../src/defined.ts";
import { type ModelConfig, tiny } from "../../src/engine/model/model-config.ts";
import { torch } from "../../src/engine/torch/torch.ts";
import { errorText } from "../../src/errors.ts";
import {
  type Algorithm,
  cosine,
  evaluate,
  fromScratch,
  grpo,
  imitate,
  learnability,
  type Monitor,
  ppo,
  recommended,
  rejectionTuning,
  rloo,
  succeeded,
  train,
} from "../../src/index.ts";
import { withOtherTasks } from "../../src/recipe/other-tasks.ts";
import { metric } from "../../src/schema/metric-names.ts";
import { benchWorlds } from "./envs.ts";
import { type RunOutcome, RunSpec } from "./spec.ts";

const sizes = { "0.3M": "tiny", "0.8M": "small", "5M": "base", "25M": wide(512, 8), "100M": wide(1024, 8) } as const;
const methods = { grpo, recommended, rloo, ppo, "rejection-tuning": rejectionTuning };

/** Llama's shape. */
function wide(width: number, layers: number) {
  const heads = width / 64;
  const feedForwardWidth = Math.round((width * 2.75) / 64) * 64;
  const shape = { width, layers, feedForwardWidth, heads, keyValueHeads: heads, headWidth: 64 };
  return (vocabularySize: number): ModelConfig => ({ ...tiny({ vocabularySize, contextLength: 1024 }), ...shape });
}

function algorithmOf({ learn }: RunSpec): Algorithm {
  if (learn === undefined) return grpo({ learningRate: 0 });
  const { method, options, learningRate } = learn;
  return methods[method]({
    ...options,
    ...(learningRate === undefined ? {} : { learningRate: cosine(learningRate, 0.1) }),
  });
}

class Watch implements Monitor {
  readonly name = "watch";
  readonly curve: number[] = [];
  readonly divergences: number[] = [];
  readonly #seconds = new Map<string, number>();
  #steps = 0;
  #rollouts = 0;
  #learnStartMs = 0;

  record(event: Parameters<Monitor["record"]>[0]): void {
    if (event.type === "phase-start") {
      process.stderr.write(`${event.phase}: ${event.steps} steps\n`);
      if (event.phase !== "imitate") this.#learnStartMs = performance.now();
    }
    if (event.type === "eval-end")
      process.stderr.write(`held-out success ${event.metrics[metric.evalSuccess]?.toFixed(3)}\n`);
    if (event.type !== "step-end") return;
    const { metrics } = event;
    for (const [name, value] of Object.entries(metrics)) {
      if (name.startsWith("time/")) this.#seconds.set(name, (this.#seconds.get(name) ?? 0) + value);
    }
    const success = metrics[metric.success];
    if (success === undefined) return;
    this.#rollouts += metrics[metric.rollouts] ?? 0;
    const divergence = metrics[metric.klOldNew];
    if (divergence !== undefined && this.divergences.length < 10) this.divergences.push(divergence);
    if (this.#steps++ % 10 !== 0) return;
    this.curve.push(success);
    process.stderr.write(`step ${event.step}, success ${success.toFixed(2)}\n`);
  }

  /** Where the seconds of imitation and of learning went, by stage. */
  get seconds(): string {
    return [...this.#seconds].map(([name, value]) => `${name.slice("time/".length)} ${value.toFixed(0)}`).join(", ");
  }

  get rollouts(): number {
    return this.#rollouts;
  }

  get learnStartMs(): number {
    return this.#learnStartMs;
  }
}

async function play(spec: RunSpec): Promise<RunOutcome> {
  const { world, seed, engine, size, tokenizer, threads, warmStart, learn, evalTasks, passAttempts, isValidation } =
    spec;
  const { make, split: reported = "test" } = benchWorlds[world];
  const { env, split } =
    isValidation === true ? withOtherTasks(make(), reported, evalTasks) : { env: make(), split: reported };
  const { onlySuccesses, ...imitation } = warmStart;
  const watch = new Watch();
  const startedMs = performance.now();
  const result = await train({
    env,
    seed,
    policy: fromScratch({
      size: sizes[size],
      tokenizer,
      valueHead: learn?.method === "ppo",
      ...(threads === undefined ? {} : { threads }),
      ...(engine === "cuda" ? { engine: (start) => torch({ ...start, device: "cuda", maxRows: 512 }) } : {}),
    }),
    warmStart: imitate({
      ...imitation,
      ...(onlySuccesses === true ? { filter: succeeded } : {}),
      learningRate: cosine(warmStart.learningRate, 0.05),
      cache: process.env.LUDUS_WARM_STARTS,
    }),
    algorithm: algorithmOf(spec),
    steps: learn?.steps ?? 1,
    tasksPerStep: learn?.tasksPerStep ?? 1,
    ...(learn?.guide === undefined ? {} : { guide: learnability() }),
    eval: { tasks: evalTasks, split },
    ...(learn?.seconds === undefined ? {} : { budget: { seconds: learn.seconds } }),
    monitors: [watch],
  });
  const { before, after, policy, reason } = result;
  if (before === undefined) throw new Error(`the run ended (${reason}) before its warm start was evaluated`);
  const endMs = performance.now();
  const ceiling =
    learn === undefined
      ? { cold: (await evaluate(env, policy, { tasks: evalTasks, split, temperature: 0.1 })).success.mean }
      : { after: after?.success, afterReward: after?.reward.mean };
  const passHat =
    passAttempts === undefined
      ? undefined
      : (await evaluate(env, policy, { tasks: 200, split, attempts: passAttempts })).passHatK[passAttempts].mean;
  await policy.engine.close();
  const { divergences, curve, learnStartMs } = watch;
  process.stderr.write(`seconds: ${watch.seconds}\n`);
  const mean = divergences.reduce((sum, each) => sum + each, 0) / divergences.length;
  return {
    before: before.success,
    beforeReward: before.reward.mean,
    ...ceiling,
    ...defined({ passHat }),
    rollouts: learn === undefined ? 0 : watch.rollouts,
    seconds: (endMs - startedMs) / 1000,
    warmSeconds: (learnStartMs - startedMs) / 1000,
    learnSeconds: (endMs - learnStartMs) / 1000,
    parameters: policy.engine.info.parameters,
    curve,
    ...(mean > 0 ? { klPerStep: mean } : {}),
    reason,
  };
}

try {
  const outcome = await play(RunSpec.parse(JSON.parse(process.argv[2] ?? "{}")));
  process.stdout.write(`${JSON.stringify(outcome)}\n`);
  process.exit(0);
} catch (error) {
  // the last line is what `npm run worlds` shows
  process.stderr.write(`failed: ${errorText(error)}\n`);
  process.exit(1);
}
