import type { World } from "../rollout/world.ts";
import type { Task } from "../schema/task.ts";
import type { TrajectoryGroup } from "../schema/trajectory-group.ts";

/**
 * Chooses and changes tasks between steps: curricula, hints, self-play, hindsight. What it has learned survives a restart:
 * `restore(state())` on a new guide goes on exactly where this one is.
 *
 *     const tasks = await guide.pick(8);
 *     …                                        // groups are rolled out
 *     guide.observe(groups);
 */
export interface Guide<Data = unknown> {
  readonly name: string;
  /** Tasks for the next groups; asked again within a step where a filter wants more. */
  pick(count: number): Promise<readonly Task<Data>[]>;
  /** How the tasks went, in the order they were picked. */
  observe(groups: readonly TrajectoryGroup<Data>[]): void;
  /** Anything JSON can say. */
  state(): unknown;
  restore(state: unknown): void;
  metrics(): Readonly<Record<string, number>>;
}

/** Made for an environment and a split when a run begins. */
export type MakeGuide = <Data>(env: World<Data>, split: string) => Guide<Data>;
