import { z } from "zod";
import { defined } from "../defined.ts";
import type { Engine } from "../engine/engine.ts";
import { type EvalReport, evaluate } from "../eval/evaluate.ts";
import { evalReportFromJson } from "../eval/stored-report.ts";
import type { Guide, GuideEngine } from "../guide/guide.ts";
import { inOrder } from "../guide/in-order.ts";
import { DoctorStop } from "../monitor/doctor/index.ts";
import type { FinishedRollout } from "../monitor/monitor.ts";
import { createRng } from "../random.ts";
import { metric } from "../schema/metric-names.ts";
import type { RunEndReason, RunEvent } from "../schema/run-event.ts";
import type { TrajectoryGroup } from "../schema/trajectory-group.ts";
import { seedOf } from "../task/seeds.ts";
import { checkPolicy } from "./check-config.ts";
import { describeConfig, identityOf } from "./describe-config.ts";
import type { LearnRow } from "./learn-row.ts";
import type { LearningPolicy } from "./learning-policy.ts";
import type { ChosenGroup } from "./measure-batch.ts";
import type { Replay } from "./replay.ts";
import { RunFolder } from "./run-folder.ts";
import type { TrainConfig, TrainResult } from "./train.ts";
import { makeWeights, weightsOf } from "./weights.ts";

const SavedState = z.object({
  guide: z.unknown(),
  replay: z.unknown(),
  klCoefficient: z.number().optional(),
  tokens: z.number(),
  successes: z.array(z.number()),
});

/** What the loop works on: the policy, the guide, the folder, and what has to be remembered from step to step. */
export class TrainingRun<Data, State> {
  readonly config: TrainConfig<Data, State>;
  readonly policy: LearningPolicy;
  readonly guide: Guide<Data>;
  readonly seed: number;
  /** Weights that learn, and the roles that speak with them. */
  readonly learners: readonly string[];
  readonly roles: readonly string[];
  /** The first step that is still to be done. */
  firstStep = 0;
  readonly #folder: RunFolder;
  readonly #replay: Replay | undefined;
  readonly #started = performance.now();
  readonly #klAtStart: number | undefined;
  #successes: number[] = [];
  #lastMetrics: Readonly<Record<string, number>> = {};
  #lastReport: { readonly step: number; readonly report: EvalReport } | undefined;
  #tokens = 0;

  private constructor(config: TrainConfig<Data, State>, policy: LearningPolicy, folder: RunFolder) {
    const { env, learners, algorithm } = config;
    this.config = config;
    this.policy = policy;
    this.seed = config.seed ?? 0;
    this.learners = learners ?? [...new Set(env.roles.map((role) => weightsOf(policy, role)))];
    this.roles = env.roles.filter((role) => this.learners.includes(weightsOf(policy, role)));
    const engine = readOnly(policy.engine);
    this.guide = (config.guide ?? inOrder())({ env, split: "train", seed: this.seed, engine });
    this.#folder = folder;
    this.#replay = config.replay?.();
    this.#klAtStart = algorithm.klInReward?.coefficient;
  }

  /** Makes the policy, opens the folder, and goes back to the last checkpoint there is. */
  static async open<Data, State>(config: TrainConfig<Data, State>): Promise<TrainingRun<Data, State>> {
    const { policy: given, seed = 0, env } = config;
    const folder = await RunFolder.open(config, (config.warmStart?.steps ?? 0) + config.steps);
    let policy: LearningPolicy | undefined;
    try {
      policy = typeof given === "function" ? await given(env, seed) : given;
      checkPolicy(config, policy);
      const run = new TrainingRun(config, policy, folder);
      await run.#resume();
      return run;
    } catch (error) {
      if (typeof given === "function") await policy?.engine.close();
      await folder.close();
      throw error;
    }
  }

  async #resume(): Promise<void> {
    await makeWeights(this.policy);
    const identity = identityOf(this.config);
    const resumed = await this.#folder.resume(this.policy.engine, identity);
    const { name } = this.config.env;
    if (resumed === undefined) {
      await this.#folder.begin(identity, describeConfig(this.config, this.policy));
      this.emit({ type: "run-start", name });
      return;
    }
    const saved = SavedState.parse(resumed.state);
    this.guide.restore(saved.guide);
    await this.#replay?.restore(saved.replay, (rollout) => this.#folder.group(rollout));
    if (saved.klCoefficient !== undefined) this.config.algorithm.klInReward?.restore(saved.klCoefficient);
    this.#tokens = saved.tokens;
    this.#successes = saved.successes;
    this.firstStep = this.#folder.lastStep + 1;
    this.emit({ type: "run-start", name, resumedAtStep: this.#folder.lastStep });
  }

  /** Why no further step should be made; undefined when one should. */
  endReason(): RunEndReason | undefined {
    const { signal, budget, earlyStop } = this.config;
    if (signal?.aborted) return signal.reason instanceof DoctorStop ? "doctor" : "stopped";
    if (budget?.seconds !== undefined && this.#seconds() >= budget.seconds) return "time-budget";
    if (budget?.tokens !== undefined && this.#tokens >= budget.tokens) return "token-budget";
    if (earlyStop === undefined) return undefined;
    const { success, window = 5 } = earlyStop;
    const recent = this.#successes.slice(-window);
    const mean = recent.reduce((a, b) => a + b, 0) / window;
    return recent.length === window && mean >= success ? "early-stop" : undefined;
  }

  /** `learned` are the rows of the update; those of replayed groups are not this step's. */
  async keep(
    step: number,
    metrics: Readonly<Record<string, number>>,
    { groups, extra = [] }: { groups: readonly TrajectoryGroup[]; extra?: readonly TrajectoryGroup[] },
    learned: readonly LearnRow[] = [],
  ) {
    const success = metrics[metric.success];
    const window = Math.max(100, this.config.earlyStop?.window ?? 0);
    if (success !== undefined) this.#successes = [...this.#successes, success].slice(-window);
    this.#tokens += metrics[metric.sampledTokens] ?? 0;
    this.#lastMetrics = metrics;
    this.#replay?.observe(groups);
    const klCoefficient = this.config.algorithm.klInReward?.coefficient;
    const state: z.infer<typeof SavedState> = {
      guide: this.guide.state(),
      tokens: this.#tokens,
      successes: this.#successes,
      replay: this.#replay?.state() ?? null,
      ...defined({ klCoefficient }),
    };
    const advantages = new Map(
      learned.flatMap((row) => (row.mask_T.includes(1) ? [[row.id, asSampled(row)] as const] : [])),
    );
    await this.#folder.keep(step, { metrics, groups: [...groups, ...extra], advantages, state });
  }

  saveIfDue(): Promise<void> {
    return this.#folder.saveIfDue(this.policy.engine);
  }

  /** Groups of earlier steps to learn from beside these. */
  async replayed(fresh: readonly ChosenGroup[], step: number): Promise<readonly ChosenGroup[]> {
    const rng = createRng(seedOf(this.seed, "replay", step));
    return (await this.#replay?.draw({ engine: this.policy.engine, fresh, rng })) ?? [];
  }

  /** On held-out tasks; nothing where the configuration wants none. `when` names the result in the store. */
  async evaluate(when: string): Promise<EvalReport | undefined> {
    const { env, rollout, eval: options, signal } = this.config;
    if (signal?.aborted || options?.tasks === 0) return undefined;
    const step = this.#folder.lastStep;
    // the policy has not moved since
    if (step >= 0 && this.#lastReport?.step === step) return this.#lastReport.report;
    const report = await evaluate(env, this.policy, {
      ...rollout,
      ...options,
      ...defined({ signal }),
    });
    if (signal?.aborted) return undefined;
    const metrics = { [metric.evalSuccess]: report.success.mean, [metric.evalReward]: report.reward.mean };
    const { rollouts: _rollouts, ...summary } = report;
    await this.#folder.keepEvaluation(when, metrics, report.success.mean, summary);
    this.#lastReport = { step, report };
    return report;
  }

  /** The report of an evaluation that was made before the run was resumed, without its rollouts. */
  async earlierReport(when: string): Promise<EvalReport | undefined> {
    const stored = await this.#folder.evaluation(when);
    return stored === undefined ? undefined : evalReportFromJson(stored);
  }

  emit(event: RunEvent): void {
    this.#folder.monitors.record(event);
  }

  readonly emitRollout = (rollout: FinishedRollout): void => this.#folder.monitors.recordRollout(rollout);

  async end(reason: RunEndReason, reports: Pick<TrainResult, "before" | "after">): Promise<TrainResult> {
    await this.#folder.save(this.policy.engine);
    await this.#folder.end(reason);
    return {
      reason,
      steps: this.#folder.lastStep + 1,
      metrics: this.#lastMetrics,
      seconds: this.#seconds(),
      policy: this.policy,
      ...reports,
    };
  }

  /** After an error: nobody else will close a policy that was made here. */
  async fail(): Promise<void> {
    this.emit({ type: "run-end", reason: "failed" });
    if (typeof this.config.policy === "function") await this.policy.engine.close();
  }

  async close(): Promise<void> {
    // the controller is the caller's: the next run with it begins as this one did
    if (this.#klAtStart !== undefined) this.config.algorithm.klInReward?.restore(this.#klAtStart);
    await this.#folder.close();
  }

  #seconds(): number {
    return (performance.now() - this.#started) / 1000;
  }
}

function readOnly(engine: Engine): GuideEngine {
  return {
    get info() {
      return engine.info;
    },
    forward: (batch, options) => engine.forward(batch, options),
  };
}

/** Advantages at the tokens of the stored trajectory, of which the row may be another view. */
function asSampled({ advantages_T, viewOffset = 0 }: LearnRow): Float32Array {
  if (viewOffset === 0) return advantages_T;
  const moved_T = new Float32Array(advantages_T.length + viewOffset);
  for (const [t, advantage] of advantages_T.entries()) if (advantage !== 0) moved_T[t + viewOffset] = advantage;
  return moved_T;
}
