import { LudusError } from "../errors.ts";
import { isInfrastructureStop } from "./stop-reason.ts";
import type { Task } from "./task.ts";
import type { Trajectory } from "./trajectory.ts";

/** Attempts at one task with one seed: what group-relative credit compares. */
export interface TrajectoryGroup<Data = unknown> {
  readonly task: Task<Data>;
  /** In the order of the rollouts; a rollout may have several. */
  readonly trajectories: readonly Trajectory[];
}

/** Throws when attempts at different tasks were mixed, or a rollout does not weigh one. */
export function makeTrajectoryGroup<Data>(
  task: Task<Data>,
  trajectories: readonly Trajectory[],
): TrajectoryGroup<Data> {
  const foreign = trajectories.find(({ taskId }) => taskId !== task.id);
  if (foreign !== undefined) {
    const got = `trajectory ${foreign.id} of task ${foreign.taskId}`;
    throw new LudusError("bad-group", { got, expected: `trajectories of task ${task.id} alone` });
  }
  const weights = new Map<string, number>();
  for (const { rollout, role, weight } of trajectories) {
    const key = `${rollout} as ${role}`;
    weights.set(key, (weights.get(key) ?? 0) + weight);
  }
  for (const [key, weight] of weights) {
    if (Math.abs(weight - 1) > 1e-6) {
      throw new LudusError("bad-group", { got: `weight ${weight} of rollout ${key}`, expected: "1 in all" });
    }
  }
  return { task, trajectories };
}

/** What may be learned from: everything that did not end through the infrastructure's fault. */
export function learnable(group: TrajectoryGroup): Trajectory[] {
  return group.trajectories.filter(({ stop }) => !isInfrastructureStop(stop));
}
