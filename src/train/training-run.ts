import { z } from "zod";
import { Checkpoints } from "../checkpoint/checkpoints.ts";
import { type EvalReport, evaluate } from "../eval/evaluate.ts";
import type { Guide } from "../guide/guide.ts";
import { inOrder } from "../guide/in-order.ts";
import { metric } from "../monitor/metric-names.ts";
import type { RunEndReason, RunEvent } from "../schema/run-event.ts";
import type { TrajectoryGroup } from "../schema/trajectory-group.ts";
import { openRun, type RunStore } from "../store/index.ts";
import { describeConfig } from "./describe-config.ts";
import { Monitors } from "./monitors.ts";
import type { LearningPolicy, TrainConfig, TrainResult } from "./train.ts";

/** What survives a restart besides weights and the store's tables. */
const savedState = z.object({
  guide: z.unknown(),
  klCoefficient: z.number().optional(),
  tokens: z.number(),
  successes: z.array(z.number()),
});

export interface StepRecord {
  readonly metrics: Readonly<Record<string, number>>;
  readonly groups: readonly TrajectoryGroup[];
}

/**
 * Everything around the loop: the policy, the folder, what is kept and how it is found again. A step is kept as a whole, in
 * one transaction; a checkpoint is written after the step it belongs to. So a run that was killed goes on from its last
 * checkpoint as if it had never gone further.
 */
export class TrainingRun<Data, State> {
  readonly config: TrainConfig<Data, State>;
  readonly policy: LearningPolicy;
  readonly guide: Guide<Data>;
  readonly seed: number;
  readonly totalSteps: number;
  readonly monitors: Monitors;
  /** The first step that is still to be done. */
  firstStep = 0;
  readonly #store: RunStore | undefined;
  readonly #checkpoints: Checkpoints | undefined;
  readonly #started = performance.now();
  #successes: number[] = [];
  #lastMetrics: Readonly<Record<string, number>> = {};
  #lastStep = -1;
  #savedStep = -1;
  #tokens = 0;

  private constructor(config: TrainConfig<Data, State>, policy: LearningPolicy, store: RunStore | undefined) {
    this.config = config;
    this.policy = policy;
    this.seed = config.seed ?? 0;
    this.totalSteps = (config.warmStart?.steps ?? 0) + config.steps;
    this.monitors = new Monitors(config.monitors ?? []);
    this.guide = (config.guide ?? inOrder())(config.env, "train");
    this.#store = store;
    this.#checkpoints = config.run === undefined ? undefined : new Checkpoints(config.run);
  }

  /** Makes the policy, opens the folder, and goes back to the last checkpoint there is. */
  static async open<Data, State>(config: TrainConfig<Data, State>): Promise<TrainingRun<Data, State>> {
    const store = config.run === undefined ? undefined : await openRun(config.run, { now: config.now ?? wallClock });
    try {
      const { policy: given, seed = 0, env } = config;
      const policy = typeof given === "function" ? await given(env, seed) : given;
      const run = new TrainingRun(config, policy, store);
      await run.#resume();
      return run;
    } catch (error) {
      await store?.close();
      throw error;
    }
  }

  async #resume(): Promise<void> {
    const step = this.#checkpoints?.steps().at(-1);
    const store = this.#store;
    if (store !== undefined) await store.truncateAfter(step ?? -1);
    if (step !== undefined) {
      await this.policy.engine.load(this.#checkpoints!.directory(step));
      const saved = savedState.parse(await store!.state("trainer"));
      this.guide.restore(saved.guide);
      if (saved.klCoefficient !== undefined) this.config.algorithm.klInReward?.restore(saved.klCoefficient);
      this.#tokens = saved.tokens;
      this.#successes = saved.successes;
      this.firstStep = step + 1;
      this.#lastStep = step;
      this.#savedStep = step;
    } else {
      await store?.transaction((write) => write.setConfig(describeConfig(this.config, this.policy)));
    }
    const { name } = this.config.env;
    this.emit(step === undefined ? { type: "run-start", name } : { type: "run-start", name, resumedAtStep: step });
  }

  /** Why no further step should be made; undefined when one should. */
  endReason(): RunEndReason | undefined {
    const { signal, budget, earlyStop } = this.config;
    if (signal?.aborted) return "stopped";
    if (budget?.seconds !== undefined && this.#seconds() >= budget.seconds) return "time-budget";
    if (budget?.tokens !== undefined && this.#tokens >= budget.tokens) return "token-budget";
    if (earlyStop !== undefined) {
      const window = earlyStop.window ?? 5;
      const recent = this.#successes.slice(-window);
      if (recent.length === window && recent.reduce((a, b) => a + b, 0) / window >= earlyStop.success)
        return "early-stop";
    }
    return undefined;
  }

  async keep(step: number, { metrics, groups }: StepRecord): Promise<void> {
    this.#tokens += metrics[metric.sampledTokens] ?? 0;
    if (metrics[metric.success] !== undefined)
      this.#successes = [...this.#successes, metrics[metric.success]!].slice(-100);
    this.#lastMetrics = metrics;
    this.#lastStep = step;
    const event: RunEvent = { type: "step-end", step, metrics };
    const klCoefficient = this.config.algorithm.klInReward?.coefficient;
    await this.#store?.transaction((write) => {
      write.recordMetrics(step, metrics);
      for (const group of groups) write.recordGroup(step, group, "train");
      write.recordEvent(step, { ...event, metrics: {} });
      write.setState(step, "trainer", {
        ...{ guide: this.guide.state(), tokens: this.#tokens, successes: this.#successes },
        ...(klCoefficient === undefined ? {} : { klCoefficient }),
      });
    });
    this.monitors.record(event);
    const every = this.config.save?.every ?? Math.max(1, Math.round(this.totalSteps / 10));
    if ((step + 1) % every === 0) await this.save();
  }

  /** A checkpoint of the last step that was kept. */
  async save(): Promise<void> {
    if (this.#checkpoints === undefined || this.#lastStep <= this.#savedStep) return;
    const step = this.#lastStep;
    const directory = await this.#checkpoints.save(this.policy.engine, step);
    this.#savedStep = step;
    this.#checkpoints.keep(this.config.save?.keep ?? 2, []);
    await this.#store?.transaction((write) => write.pruneState(this.#checkpoints!.steps()[0] ?? 0));
    this.monitors.record({ type: "checkpoint-saved", step, directory });
  }

  /** On held-out tasks. `when` names the result in the store: a resumed run finds it there. */
  async evaluate(when: string): Promise<EvalReport | undefined> {
    const { env, rollout, eval: options, signal } = this.config;
    if (signal?.aborted) return undefined;
    const step = Math.max(0, this.#lastStep);
    const report = await evaluate(env, this.policy, {
      ...rollout,
      ...options,
      ...(signal === undefined ? {} : { signal }),
    });
    if (signal?.aborted) return undefined;
    const metrics = { [metric.evalSuccess]: report.success.mean, [metric.evalReward]: report.reward.mean };
    const { rollouts: _rollouts, ...summary } = report;
    await this.#store?.transaction((write) => {
      write.recordMetrics(step, metrics);
      write.recordEvent(step, { type: "eval-end", step, metrics });
      write.setState(step, `eval/${when}`, summary);
    });
    this.monitors.record({ type: "eval-end", step, metrics });
    return report;
  }

  emit(event: RunEvent): void {
    this.monitors.record(event);
  }

  async end(reason: RunEndReason, reports: Pick<TrainResult, "before" | "after">): Promise<TrainResult> {
    await this.save();
    await this.#store?.transaction((write) =>
      write.recordEvent(Math.max(0, this.#lastStep), { type: "run-end", reason }),
    );
    this.monitors.record({ type: "run-end", reason });
    return {
      ...{
        reason,
        steps: this.#lastStep + 1,
        metrics: this.#lastMetrics,
        seconds: this.#seconds(),
        policy: this.policy,
      },
      ...reports,
    };
  }

  async close(): Promise<void> {
    await this.monitors.close();
    await this.#store?.close();
  }

  #seconds(): number {
    return (performance.now() - this.#started) / 1000;
  }
}

const wallClock = () => performance.timeOrigin + performance.now();
