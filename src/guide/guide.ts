import type { Engine } from "../engine/engine.ts";
import type { Policy, RolloutOptions } from "../rollout/rollout.ts";
import type { World } from "../rollout/world.ts";
import type { Task } from "../schema/task.ts";
import type { TrajectoryGroup } from "../schema/trajectory-group.ts";

/**
 * Chooses and changes tasks between steps: curricula, hints, self-play, hindsight.
 *
 *     const leases = await guide.pick(8);
 *     …                                                        // a group is rolled out for each lease
 *     const extra = await guide.observe(leases.map((lease, i) => ({ lease, group: groups[i] })));
 *     …                                                        // the step learns from the groups and from `extra`
 *
 * A lease is under way from `pick` until it is observed, which happens once. Leases under way are part of the state: after a
 * restart `pick` hands them out again, and no task is lost or counted twice.
 */
export interface Guide<Data = unknown> {
  readonly name: string;
  /**
   * As many tasks as asked for; asked again within a step where a filter wants more. After `restore`, first the leases that were under
   * way, in the order they were picked, with the same ids and tasks.
   */
  pick(count: number): Promise<readonly Lease<Data>[]>;
  /**
   * How leases went; in any order, in several calls. Throws for a lease that is not under way, and changes nothing then. Returns groups
   * to learn from besides, none of which was sampled as it is: relabelled goals, attempts from elsewhere. Their trajectories have
   * `id`s and `rollout`s of their own, and their tasks name the one they were made from as `parent`.
   */
  observe(results: readonly LeasedGroup<Data>[]): ExtraGroups<Data> | Promise<ExtraGroups<Data>>;
  /** All that has to survive a restart, as JSON can hold it. Not asked for while `pick` or `observe` is pending. */
  state(): unknown;
  /** Makes a new guide continue exactly where another was. Throws where the state is not one of this guide. */
  restore(state: unknown): void;
  /** Finite numbers, by names such as `guide/tasks`; read once a step. */
  metrics(): Readonly<Record<string, number>>;
}

/** A task that was picked and is to be observed once. */
export interface Lease<Data = unknown> {
  /** No other lease of the run has it. */
  readonly id: string;
  readonly task: Task<Data>;
}

/** A lease and the attempts at its task. */
export interface LeasedGroup<Data = unknown> {
  readonly lease: Lease<Data>;
  readonly group: TrajectoryGroup<Data>;
}

export type ExtraGroups<Data = unknown> = readonly TrajectoryGroup<Data>[];

/** What a guide is made with when a run begins. */
export interface GuideContext<Data = unknown> {
  readonly env: World<Data>;
  /** The split whose tasks are trained on. */
  readonly split: string;
  /** The run's: a guide draws its random numbers from it. */
  readonly seed: number;
  /** The engine that is trained, to look at: its weights and version, log-probabilities, entropies and values. It also keeps copies for the guide. */
  readonly engine: GuideEngine;
  /** How messages become tokens, and how attempts are made: for guides that play what was said again at another task (`sayAgain`). */
  readonly policy: Pick<Policy, "renderer" | "tokenizer" | "weights">;
  readonly rollout: Pick<RolloutOptions, "limits" | "format" | "context" | "sandbox">;
}

export interface GuideEngine extends Pick<Engine, "info" | "forward"> {
  /** Copies the policy as it is now, to play with and never to train. The name begins with `guide/`; checkpoints have these weights, too. */
  snapshot(name: string): Promise<void>;
  /** Frees such a copy. */
  release(kept: { weights: string }): Promise<void>;
}

/** What weights are called that a guide keeps. */
export const guideWeights = "guide/";

export type MakeGuide = <Data>(context: GuideContext<Data>) => Guide<Data>;
