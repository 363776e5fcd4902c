import type { Task } from "../schema/task.ts";
import type { Trajectory } from "../schema/trajectory.ts";
import { makeTrajectoryGroup, type TrajectoryGroup } from "../schema/trajectory-group.ts";
import { hashText } from "../task/seeds.ts";

export interface Attempt {
  /** 0 to n - 1. */
  readonly index: number;
  /** Different for each attempt, the same when the run is repeated. */
  readonly seed: number;
}

/**
 * Attempts at one task by any async function: an agent that exists already need not become an environment.
 *
 *     const eight = await group(task, 8, async (task, { seed }) => {
 *       …                                    // whatever the agent does, with engine.sample
 *       return makeTrajectory({ … });        // or several, with weights that add up to 1
 *     });
 *
 * What the function throws is thrown here, after the other attempts have ended.
 */
export async function group<Data>(
  task: Task<Data>,
  n: number,
  rollout: (task: Task<Data>, attempt: Attempt) => Promise<Trajectory | readonly Trajectory[]>,
): Promise<TrajectoryGroup<Data>> {
  // async, so that what it throws at once waits for the others as well
  const attempts = Array.from({ length: n }, async (_, index) =>
    rollout(task, { index, seed: hashText(`${task.id}/${task.seed}/${index}`) }),
  );
  const settled = await Promise.allSettled(attempts);
  const failure = settled.find((result) => result.status === "rejected");
  if (failure !== undefined) throw failure.reason;
  const trajectories = settled.flatMap((result) => (result.status === "fulfilled" ? result.value : []));
  return makeTrajectoryGroup(task, trajectories);
}
