import type { Guide } from "../../guide/guide.ts";
import type { Limiter } from "../../limiter.ts";
import type { Rollout, RolloutOptions } from "../../rollout/rollout.ts";
import type { World } from "../../rollout/world.ts";
import type { FailureTally } from "../../schema/failure.ts";
import type { Algorithm } from "../algorithm.ts";
import type { LearningPolicy } from "../learning-policy.ts";
import type { Replay } from "../replay.ts";

/** Limits, format and context of rollouts, where the environment's own are not meant. */
export type RolloutSettings = Pick<RolloutOptions, "limits" | "format" | "context" | "sandbox">;

/** What stays the same for all steps of a run. Stages take it as their first argument and change nothing in it. */
export interface TrainContext<Data = unknown> {
  readonly world: World<Data>;
  readonly policy: LearningPolicy;
  readonly algorithm: Algorithm;
  readonly guide: Guide<Data>;
  readonly replay?: Replay;
  /** Weights that learn, and the roles that speak with them. */
  readonly learners: readonly string[];
  readonly roles: readonly string[];
  /** Groups of a step. */
  readonly tasksPerStep: number;
  readonly rollout: RolloutSettings;
  /** Bounds the attempts under way of the whole run: training, greedy baselines and evaluation share it. */
  readonly limit: Limiter;
  readonly seed: number;
  readonly signal?: AbortSignal;
  readonly onRollout?: (rollout: Rollout) => void;
}

/** The same, at one step. */
export interface StepContext<Data = unknown> extends TrainContext<Data> {
  /** Of the run, the warm start's included. */
  readonly step: number;
  /** Steps of learning from experience before this one. */
  readonly learningStep: number;
  /** Share of the learning that is done. */
  readonly progress: number;
  /** Counts the step's attempts that failed through no fault of the policy. */
  readonly failures: FailureTally;
}

/** Numbers that a stage reports, by their names in `schema/metric-names.ts`. */
export type Metrics = Readonly<Record<string, number>>;
