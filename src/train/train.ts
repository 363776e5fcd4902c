import type { EvalOptions, EvalReport } from "../eval/evaluate.ts";
import type { MakeGuide } from "../guide/guide.ts";
import type { Monitor } from "../monitor/monitor.ts";
import type { GroupReward } from "../reward/group-reward.ts";
import type { World } from "../rollout/world.ts";
import type { RunEndReason } from "../schema/run-event.ts";
import type { RunCatalog } from "../store/run-catalog.ts";
import type { Sandbox } from "../tool/sandbox/sandbox.ts";
import type { Algorithm } from "./algorithm.ts";
import type { AsyncOptions } from "./async/async-options.ts";
import type { FromRun } from "./from-run.ts";
import type { LearningPolicy, MakePolicy } from "./learning-policy.ts";
import type { Replay } from "./replay.ts";
import type { SaveOptions } from "./run-recorder.ts";
import type { RolloutSettings } from "./stages/stage-context.ts";
import type { WarmStart } from "./warm-start.ts";

/**
 * A training run.
 *
 *     const result = await train({
 *       env,
 *       policy: fromScratch({ size: "small" }),
 *       warmStart: imitate({ demonstrations: 500, noise: 0.3 }),
 *       algorithm: grpo({ groupSize: 8 }),
 *       steps: 100,
 *       run: "runs/first",          // a folder: metrics, trajectories, checkpoints; run it again to resume
 *     });
 *     result.after.success;         // { mean: 0.93, low: 0.90, high: 0.95 } on tasks it never trained on
 */
export interface TrainConfig<Data = unknown> {
  env: World<Data>;
  policy: LearningPolicy | MakePolicy;
  algorithm: Algorithm;
  steps: number;
  /** Groups of a step: tasks times the algorithm's group size is the number of rollouts. 16 by default. */
  tasksPerStep?: number;
  /** What comes before learning from experience: `imitate()`, or the weights of another run, `fromRun()`. */
  warmStart?: WarmStart | FromRun;
  /** Which tasks come next; all of them in turn by default. */
  guide?: MakeGuide;
  /** Compares the attempts of each group and adds to their scores: `relativeJudge(…)`, or a function. */
  groupReward?: GroupReward<Data>;
  /** Limits, format and context of rollouts, where the environment's own are not meant. */
  rollout?: RolloutSettings;
  /** Where code that tools run is executed; `bubblewrapSandbox()` by default. Its name and level are stored with the run. */
  sandbox?: Sandbox;
  /** Rolls out ahead of the updates: `{ staleness: 1 }`. Without it a step's rollouts begin when the step before has ended. */
  async?: AsyncOptions;
  /** Attempts under way at once, in training and evaluation together; 2048 by default. */
  concurrency?: number;
  /**
   * Weights that learn: those of all roles by default. Roles that speak with other weights are part of the world. Weights that
   * the engine does not have yet start as copies of the policy.
   */
  learners?: readonly string[];
  /** Mixes what was done in earlier steps into each batch. Off by default: give the algorithm `corrections` with it. */
  replay?: () => Replay;
  /** Held-out tasks, before, after and every so many steps (never in between by default). No tasks, no evaluation. */
  eval?: Partial<EvalOptions> & {
    every?: number;
    /**
     * Episodes of an evaluation that stay stored once there is a later one, tasks that failed first; 50 by default. The latest
     * evaluation and the best one keep all of theirs.
     */
    retainEpisodes?: number;
  };
  seed?: number;
  /** The run's id in its store: a folder by default, or `postgres://host/database#run`. Without one nothing is stored, and the run cannot be resumed. */
  run?: string;
  /** Where runs are stored; folders by default, or the server in `run`: `postgres(url)`. */
  store?: RunCatalog;
  /**
   * Settings that may differ from those the stored run was made with, by their paths, such as
   * `algorithm.optimizer.learningRate` or just `learningRate`. Any other difference is refused when a run is resumed.
   */
  accept?: readonly string[];
  /** When checkpoints are saved, and which are retained. */
  save?: SaveOptions;
  /** Seconds are this process's; sampled tokens are those of the whole run. */
  budget?: { seconds?: number; tokens?: number };
  /** Ends the run when the mean success of so many steps has reached a value. */
  earlyStop?: { success: number; window?: number };
  monitors?: readonly Monitor[];
  /** The file that exports this configuration; `ludus train` fills it in. Stored with the run, so that `ludus dashboard` finds its environment. */
  source?: string;
  /** The clock of events in the store. */
  now?: () => number;
  /** Abort it to stop, with the last whole step saved. Rollouts in progress are broken off, an update is finished. */
  signal?: AbortSignal;
}

export interface TrainResult {
  readonly reason: RunEndReason;
  /** Steps that are done, of warm start and learning together. */
  readonly steps: number;
  /** Held-out tasks after the warm start and before learning. Without rollouts in a run that was resumed after that. */
  readonly before?: EvalReport;
  readonly after?: EvalReport;
  /** Metrics of the last step. */
  readonly metrics: Readonly<Record<string, number>>;
  readonly seconds: number;
  /** For more: it stays open, and is the caller's to close. */
  readonly policy: LearningPolicy;
}
