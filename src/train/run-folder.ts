import { mkdirSync } from "node:fs";
import { z } from "zod";
import { Checkpoints } from "../checkpoint/checkpoints.ts";
import { wallClock } from "../clock.ts";
import { defined } from "../defined.ts";
import type { Engine } from "../engine/engine.ts";
import { LudusError } from "../errors.ts";
import type { Monitor } from "../monitor/monitor.ts";
import type { RunEndReason, RunEvent } from "../schema/run-event.ts";
import type { TrajectoryGroup } from "../schema/trajectory-group.ts";
import { type Advantages, openRun, type RunStore } from "../store/index.ts";
import { Monitors } from "./monitors.ts";

export interface RunFolderOptions {
  run?: string;
  /** Checkpoints, every so many steps; a tenth of the run by default. The last `keep` are kept, 2 by default, and the best. */
  save?: { every?: number; keep?: number };
  monitors?: readonly Monitor[];
  now?: () => number;
}

/** What tells a run from another: going on with another environment, algorithm or seed would be neither run. */
export type RunIdentity = Readonly<Record<string, string | number>>;

export interface StepRecord {
  readonly metrics: Readonly<Record<string, number>>;
  readonly groups: readonly TrajectoryGroup[];
  /** Of the trajectories that were learned from. */
  readonly advantages?: Advantages;
  /** What must survive a restart besides weights and the store's tables. */
  readonly state: unknown;
}

const KeptState = z.object({ step: z.int(), state: z.unknown() });
const KeptConfig = z.object({ identity: z.record(z.string(), z.union([z.string(), z.number()])) });
const Best = z.object({ step: z.int(), success: z.number() });

/**
 * What a run leaves behind, and how it goes on from there. A step is kept as a whole, in one append, and its checkpoint is
 * written after all that belongs to it. So a run that was killed goes on from its last checkpoint as if it had never gone
 * further. Without a folder nothing is kept, and only monitors are told.
 */
export class RunFolder {
  readonly monitors: Monitors;
  /** The last step that is done, -1 before the first. */
  lastStep = -1;
  readonly #store: RunStore | undefined;
  readonly #checkpoints: Checkpoints | undefined;
  readonly #every: number;
  readonly #kept: number;
  #savedStep = -1;
  #best: z.infer<typeof Best> | undefined;

  private constructor(options: RunFolderOptions, totalSteps: number, store: RunStore | undefined) {
    this.monitors = new Monitors(options.monitors ?? []);
    this.#store = store;
    this.#checkpoints = options.run === undefined ? undefined : new Checkpoints(options.run);
    this.#every = options.save?.every ?? Math.max(1, Math.round(totalSteps / 10));
    this.#kept = options.save?.keep ?? 2;
  }

  static async open(options: RunFolderOptions, totalSteps: number): Promise<RunFolder> {
    const { run, now = wallClock } = options;
    if (run === undefined) return new RunFolder(options, totalSteps, undefined);
    mkdirSync(run, { recursive: true });
    return new RunFolder(options, totalSteps, await openRun(run, { now }));
  }

  /** Goes back to the last checkpoint: the engine has its weights then, and what was kept beside them is returned. */
  async resume(engine: Engine, identity: RunIdentity): Promise<{ readonly state: unknown } | undefined> {
    const [checkpoints, store] = [this.#checkpoints, this.#store];
    const step = checkpoints?.steps().at(-1);
    if (checkpoints === undefined || store === undefined || step === undefined) return undefined;
    checkIdentity(await store.config(), identity);
    await checkpoints.load(engine, step);
    await store.truncateAfter(step);
    const kept = KeptState.safeParse(await store.state("trainer"));
    if (!kept.success || kept.data.step !== step) {
      throw new LudusError("run-incomplete", {
        got: `a checkpoint of step ${step} in ${checkpoints.directory(step)}, and no record of that step`,
        expected: "both",
        hint: "The machine went down before the record was on disk. Remove the folder to go on from the one before.",
      });
    }
    this.lastStep = step;
    this.#savedStep = step;
    this.#best = Best.optional().parse(await store.state("best"));
    return { state: kept.data.state };
  }

  /** A run that begins: what a broken attempt left before its first checkpoint is forgotten. */
  async begin(identity: RunIdentity, config: unknown): Promise<void> {
    await this.#store?.truncateAfter(-1);
    await this.#store?.append(0, { config: { identity, ...Object(config) } });
  }

  async keep(step: number, { metrics, groups, advantages, state }: StepRecord): Promise<void> {
    this.lastStep = step;
    const event: RunEvent = { type: "step-end", step, metrics };
    await this.#store?.append(step, {
      metrics,
      groups: groups.map((group) => ({ group, split: "train", advantages })),
      events: [{ ...event, metrics: {} }],
      state: { trainer: { step, state } satisfies z.infer<typeof KeptState> },
    });
    this.monitors.record(event);
  }

  /** An evaluation after the last step; `when` names it for `evaluation`. The best has a checkpoint that stays. */
  async keepEvaluation(when: string, metrics: Readonly<Record<string, number>>, success: number, summary: unknown) {
    const step = Math.max(0, this.lastStep);
    const event: RunEvent = { type: "eval-end", step, metrics };
    const isBest = this.lastStep >= 0 && success > (this.#best?.success ?? Number.NEGATIVE_INFINITY);
    if (isBest) this.#best = { step, success };
    const state = { [`eval/${when}`]: summary, ...defined({ best: isBest ? this.#best : undefined }) };
    await this.#store?.append(step, { metrics, events: [event], state });
    this.monitors.record(event);
  }

  /** What was kept of an evaluation. */
  async evaluation(when: string): Promise<unknown> {
    return this.#store?.state(`eval/${when}`);
  }

  /** The stored group of a rollout. */
  async group(rollout: string): Promise<TrajectoryGroup> {
    const page = await this.#store?.trajectories({ rollout }, { limit: 1 });
    const key = page?.trajectories[0]?.group;
    if (key !== undefined) return this.#store!.group(key);
    throw new LudusError("group-missing", { got: `rollout ${rollout}`, expected: "one that the run has stored" });
  }

  /** To be called when all that belongs to the last step has been kept. */
  async saveIfDue(engine: Engine): Promise<void> {
    if ((this.lastStep + 1) % this.#every === 0 || this.#best?.step === this.lastStep) await this.save(engine);
  }

  /** A checkpoint of the last step. */
  async save(engine: Engine): Promise<void> {
    const checkpoints = this.#checkpoints;
    const step = this.lastStep;
    if (checkpoints === undefined || step <= this.#savedStep) return;
    const directory = await checkpoints.save(engine, step);
    this.#savedStep = step;
    checkpoints.keep(this.#kept, this.#best === undefined ? [] : [this.#best.step]);
    await this.#store?.append(step, { pruneStateBefore: checkpoints.steps()[0] ?? 0 });
    this.monitors.record({ type: "checkpoint-saved", step, directory });
  }

  async end(reason: RunEndReason): Promise<void> {
    const event: RunEvent = { type: "run-end", reason };
    await this.#store?.append(Math.max(0, this.lastStep), { events: [event] });
    this.monitors.record(event);
  }

  async close(): Promise<void> {
    try {
      await this.monitors.close();
    } finally {
      await this.#store?.close();
    }
  }
}

function checkIdentity(config: unknown, wanted: RunIdentity): void {
  const kept = KeptConfig.safeParse(config);
  if (!kept.success) {
    throw new LudusError("run-incomplete", {
      got: "a folder with checkpoints, and no record of the run they belong to",
      expected: "both: run.sqlite may have been moved or removed",
      hint: "Put run.sqlite back beside the checkpoints, or remove them to begin anew.",
    });
  }
  const { identity } = kept.data;
  const names = new Set([...Object.keys(identity), ...Object.keys(wanted)]);
  const other = [...names].filter((name) => identity[name] !== wanted[name]);
  if (other.length === 0) return;
  const list = (from: RunIdentity) => other.map((name) => `${name} ${JSON.stringify(from[name] ?? "none")}`).join(", ");
  throw new LudusError("other-run", {
    got: `a folder with a run of ${list(identity)}`,
    expected: list(wanted),
    hint: "Choose another folder for this run, or go on with the same configuration; `steps` alone may grow.",
  });
}
