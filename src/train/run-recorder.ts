import { z } from "zod";
import { Checkpoints } from "../checkpoint/checkpoints.ts";
import { wallClock } from "../clock.ts";
import { defined } from "../defined.ts";
import type { Engine } from "../engine/engine.ts";
import { errorText, failureText, LudusError } from "../errors.ts";
import type { EvalReport } from "../eval/evaluate.ts";
import type { Monitor } from "../monitor/monitor.ts";
import type { Failure, FailureTally } from "../schema/failure.ts";
import type { RunEndReason, RunEvent } from "../schema/run-event.ts";
import type { TrajectoryGroup } from "../schema/trajectory-group.ts";
import { appendStorable } from "../store/append-storable.ts";
import {
  type Advantages,
  addressedRuns,
  type RunCatalog,
  type RunStore,
  type StepWrites,
  trainSplit,
} from "../store/index.ts";
import { bufferedKeys, bufferedSplit, finishedGroups } from "./async/buffered-groups.ts";
import { defaultRetainedEpisodes, heldOutGroups, outdatedGroups } from "./held-out-episodes.ts";
import { Monitors } from "./monitors.ts";
import { type ConfigChange, checkConfigChange, isOutdated, type RunConfig } from "./run-config.ts";
import { LostStep } from "./stages/lost-step.ts";

export interface SaveOptions {
  /** Steps between two checkpoints; a tenth of the run by default. */
  every?: number;
  /** How many of the newest are retained; 2 by default. The best by held-out success is retained besides. */
  retain?: number;
  /** Every so many steps a checkpoint is saved that is never removed, to go back to later. None by default. */
  retainEvery?: number;
}

export interface RecorderOptions {
  /** The id of the run in its store: a folder, unless another store is given. */
  run?: string;
  /** Where runs are stored: a folder with `run.sqlite` and checkpoints of each by default. */
  store?: RunCatalog;
  save?: SaveOptions;
  monitors?: readonly Monitor[];
  now?: () => number;
  /** Settings that may differ from those a stored run was made with, by their paths. */
  accept?: readonly string[];
}

export interface ResumedRun {
  /** What was saved beside the checkpoint. */
  readonly state: unknown;
  /** Settings that differ from those the run was stored with, all of them accepted. */
  readonly changes: readonly ConfigChange[];
  /** Groups that finished and that no step before the checkpoint took; of a run that rolls out ahead. */
  readonly buffered: readonly TrajectoryGroup[];
}

export interface StepRecord {
  readonly metrics: Readonly<Record<string, number>>;
  readonly groups: readonly TrajectoryGroup[];
  /** Of the trajectories that were learned from. */
  readonly advantages?: Advantages;
  /** What must survive a restart besides weights and the store's tables. */
  readonly state: unknown;
  /** Attempts of the step that failed. */
  readonly failures?: FailureTally;
  /** Buffered groups that are the step's now, by a rollout of each. */
  readonly unbuffer?: readonly string[];
}

const SavedStep = z.object({ step: z.int(), state: z.unknown() });
const Best = z.object({ step: z.int(), success: z.number() });

/**
 * What a run leaves behind, and how it is resumed. A step is recorded as a whole, and its checkpoint is written after all that
 * belongs to it. So a run that was killed resumes from its last checkpoint as if it had never gone further. Without a run folder
 * nothing is stored, and only monitors are told.
 */
export class RunRecorder {
  readonly monitors: Monitors;
  /** The last step that is done, -1 before the first. */
  lastStep = -1;
  /** Saved with checkpoints, so that other programs render conversations as in training. */
  chatTemplate: string | undefined;
  readonly #store: RunStore | undefined;
  readonly #checkpoints: Checkpoints | undefined;
  readonly #every: number;
  readonly #retained: number;
  readonly #retainEvery: number;
  #savedStep = -1;
  #best: z.infer<typeof Best> | undefined;
  #lastReport: { readonly step: number; readonly report: EvalReport } | undefined;

  private constructor(options: RecorderOptions, totalSteps: number, store?: RunStore, checkpoints?: Checkpoints) {
    this.monitors = new Monitors(options.monitors ?? []);
    this.#store = store;
    this.#checkpoints = checkpoints;
    this.#every = options.save?.every ?? Math.max(1, Math.round(totalSteps / 10));
    this.#retained = options.save?.retain ?? 2;
    this.#retainEvery = options.save?.retainEvery ?? Number.POSITIVE_INFINITY;
  }

  static async open(options: RecorderOptions, totalSteps: number): Promise<RunRecorder> {
    const { run, store: runs = addressedRuns(), now = wallClock } = options;
    if (run === undefined) return new RunRecorder(options, totalSteps);
    const store = await runs.openForWriting(run, { now });
    return new RunRecorder(options, totalSteps, store, new Checkpoints(runs.checkpointDirectory(run)));
  }

  /** Goes back to the last checkpoint: the engine has its weights then, and the state saved with it is returned. */
  async resume(
    engine: Engine,
    config: RunConfig,
    accept: readonly string[] = [],
    isAsync = false,
  ): Promise<ResumedRun | undefined> {
    const [checkpoints, store] = [this.#checkpoints, this.#store];
    const step = checkpoints?.steps().at(-1);
    if (checkpoints === undefined || store === undefined || step === undefined) return undefined;
    const stored = await store.config();
    const changes = checkConfigChange(stored, config, accept);
    await checkpoints.load(engine, step);
    const buffered = await this.#forgetAfter(store, step, isAsync);
    const saved = SavedStep.safeParse(await store.state("trainer"));
    if (!saved.success || saved.data.step !== step) {
      throw new LudusError("run-incomplete", {
        got: `a checkpoint of step ${step} in ${checkpoints.directory(step)}, and no record of that step`,
        expected: "both",
        hint: "The machine went down before the record was on disk. Remove the folder to resume from the checkpoint before.",
      });
    }
    if (isOutdated(stored, config)) await store.append(step, { config });
    this.lastStep = step;
    this.#savedStep = step;
    this.#best = Best.optional().parse(await store.state("best"));
    return { state: saved.data.state, changes, buffered };
  }

  /** Groups that steps after the checkpoint took are waiting again, in the same write: nothing has been learned from them. */
  async #forgetAfter(store: RunStore, step: number, isAsync: boolean): Promise<readonly TrajectoryGroup[]> {
    const { groups, later } = isAsync ? await finishedGroups(store, step) : { groups: [], later: [] };
    await store.append(step, { truncateAfter: step, groups: later.map(waiting) });
    return groups;
  }

  /**
   * A new run: what a broken attempt left before its first checkpoint is removed, but for groups that were rolled out ahead, which are
   * returned. It is one write, so that a kill loses none of them.
   */
  async begin(config: RunConfig, isAsync = false): Promise<readonly TrajectoryGroup[]> {
    const store = this.#store;
    if (store === undefined) return [];
    const { groups } = isAsync ? await finishedGroups(store, -1) : { groups: [] };
    await store.append(0, { truncateAfter: -1, config, groups: groups.map(waiting) });
    return groups;
  }

  async record(step: number, record: StepRecord): Promise<void> {
    const { metrics, groups, advantages, state, failures, unbuffer = [] } = record;
    const removeGroups = this.#store === undefined ? [] : await bufferedKeys(this.#store, unbuffer);
    this.lastStep = step;
    const failed = failureEvents(step, failures?.list() ?? [], failures?.attempts ?? 0);
    const event: RunEvent = { type: "step-end", step, metrics };
    const warning = await this.#appendStorable(step, {
      metrics,
      groups: groups.map((group) => ({ group, split: trainSplit, ...defined({ advantages }) })),
      removeGroups,
      events: [...failed, { ...event, metrics: {} }],
      state: { trainer: { step, state } satisfies z.infer<typeof SavedStep> },
    });
    for (const each of [...failed, event, ...(warning === undefined ? [] : [warning])]) this.monitors.record(each);
  }

  /** Stores a group that finished before a step wants it: a run that is killed finds it again. */
  async buffer(group: TrajectoryGroup): Promise<void> {
    const writes = { groups: [waiting(group)] };
    const warning = await this.#appendStorable(Math.max(0, this.lastStep), writes);
    if (warning !== undefined) this.monitors.record(warning);
  }

  /** Forgets groups that were buffered and will not be learned from, by a rollout of each. */
  async unbuffer(rollouts: readonly string[]): Promise<void> {
    const store = this.#store;
    if (store === undefined || rollouts.length === 0) return;
    await store.append(Math.max(0, this.lastStep), { removeGroups: await bufferedKeys(store, rollouts) });
  }

  async #appendStorable(step: number, writes: StepWrites): Promise<RunEvent | undefined> {
    return this.#store === undefined ? undefined : appendStorable(this.#store, step, writes);
  }

  /** Of an evaluation after the last step, or of demonstrations. */
  async recordFailures(failures: readonly Failure[], attempts: number): Promise<void> {
    if (failures.length === 0) return;
    const isEvaluation = failures[0].during === "evaluation";
    // demonstrations are the same whenever the run is resumed
    const step = isEvaluation ? Math.max(0, this.lastStep) : 0;
    const named = (rollout: string) => (isEvaluation ? `${this.#evaluationName()}/${rollout}` : rollout);
    const events = failureEvents(step, failures, attempts).map((event) => ({
      ...event,
      rollout: named(event.rollout),
    }));
    await this.#store?.append(step, { events });
    for (const event of events) this.monitors.record(event);
  }

  /** Begins the ids of held-out episodes: an evaluation that a resumed run makes again has the same. */
  #evaluationName(): string {
    return this.lastStep < 0 ? "before" : `step-${this.lastStep}`;
  }

  /** An evaluation after the last step; `when` names it for `evaluation`. The checkpoint of the best is retained. */
  async recordEvaluation(
    when: string,
    metrics: Readonly<Record<string, number>>,
    report: EvalReport,
    retained = defaultRetainedEpisodes,
  ): Promise<void> {
    const { rollouts: _rollouts, ...summary } = report;
    const success = report.success.mean;
    const step = Math.max(0, this.lastStep);
    const event: RunEvent = { type: "eval-end", step, metrics };
    const isBest = this.lastStep >= 0 && success > (this.#best?.success ?? Number.NEGATIVE_INFINITY);
    const earlierBest = this.#best?.step;
    if (isBest) this.#best = { step, success };
    const state = { [`eval/${when}`]: summary, ...defined({ best: isBest ? this.#best : undefined }) };
    const store = this.#store;
    if (store !== undefined) {
      const name = this.#evaluationName();
      const outdated = { step, name, best: this.#best?.step, earlierBest, retained };
      const removeGroups = await outdatedGroups(store, outdated);
      const groups = heldOutGroups(report, name);
      const warning = await this.#appendStorable(step, { metrics, events: [event], state, groups, removeGroups });
      if (warning !== undefined) this.monitors.record(warning);
    }
    this.#lastReport = { step: this.lastStep, report };
    this.monitors.record(event);
  }

  /** The last report, where no step has been made since. */
  lastReport(): EvalReport | undefined {
    const { step, report } = this.#lastReport ?? {};
    return this.lastStep >= 0 && step === this.lastStep ? report : undefined;
  }

  /** What was recorded of an evaluation. */
  async evaluation(when: string): Promise<unknown> {
    return this.#store?.state(`eval/${when}`);
  }

  /** The stored group of a rollout; nothing where the rollout could not be stored. */
  async group(rollout: string): Promise<TrajectoryGroup | undefined> {
    const page = await this.#store?.trajectories({ rollout }, { limit: 1 });
    const key = page?.trajectories[0]?.group;
    return key === undefined ? undefined : this.#store!.group(key);
  }

  /** To be called when all that belongs to the last step has been recorded. */
  async saveIfDue(engine: Engine): Promise<void> {
    const isDue = (this.lastStep + 1) % this.#every === 0 || this.#best?.step === this.lastStep;
    if (isDue || this.#isRetained(this.lastStep)) await this.save(engine);
  }

  /** Whether a checkpoint of the step is never removed. */
  #isRetained(step: number): boolean {
    return (step + 1) % this.#retainEvery === 0;
  }

  /** A checkpoint of the last step. */
  async save(engine: Engine): Promise<void> {
    const checkpoints = this.#checkpoints;
    const step = this.lastStep;
    if (checkpoints === undefined || step <= this.#savedStep) return;
    const directory = await checkpoints.save(engine, step, this.chatTemplate);
    this.#savedStep = step;
    checkpoints.retain(this.#retained, (other) => this.#isRetained(other) || other === this.#best?.step);
    await this.#store?.append(step, { pruneStateBefore: checkpoints.steps()[0] ?? 0 });
    this.monitors.record({ type: "checkpoint-saved", step, directory });
  }

  async end(reason: RunEndReason, message?: string): Promise<void> {
    const event: RunEvent = { type: "run-end", reason, ...defined({ message }) };
    await this.#store?.append(Math.max(0, this.lastStep), { events: [event] });
    this.monitors.record(event);
  }

  /** After an error. A store that caused it cannot record it; monitors are told all the same. */
  async fail(error: unknown, engine: Engine): Promise<void> {
    const message = failureText(errorText(error));
    try {
      if (error instanceof LostStep) await this.#recordLostStep(error, engine);
      await this.end("failed", message);
    } catch {
      this.monitors.record({ type: "run-end", reason: "failed", message });
    }
  }

  /** A step that cannot be learned from: what is there of its attempts is stored, and the steps before it are saved. */
  async #recordLostStep({ step, groups, failures }: LostStep, engine: Engine): Promise<void> {
    const events = failureEvents(step, failures.list(), failures.attempts);
    await this.#appendStorable(step, { events, groups: groups.map((group) => ({ group, split: trainSplit })) });
    for (const event of events) this.monitors.record(event);
    await this.save(engine);
  }

  async close(): Promise<void> {
    try {
      await this.monitors.close();
    } finally {
      await this.#store?.close();
    }
  }
}

const waiting = (group: TrajectoryGroup) => ({ group, split: bufferedSplit });

type FailureEvent = Extract<RunEvent, { type: "failure" }>;

function failureEvents(step: number, failures: readonly Failure[], attempts: number): FailureEvent[] {
  return failures.map((failure) => ({ type: "failure", step, attempts, ...failure }));
}
