import { isJsonObject } from "./parse-with.ts";

// Before there were annotations, a hint was a field `guidance` of tasks and of trajectories. Runs that were stored then are still read.

/** A task as it is written today. */
export function currentTaskForm(task: unknown): unknown {
  if (!isJsonObject(task) || !isJsonObject(task.guidance)) return task;
  const { guidance, ...rest } = task;
  const { failures, ...hint } = guidance;
  return { ...rest, annotations: failures === undefined ? { hint } : { hint, failures } };
}

/** A trajectory as it is written today. */
export function currentTrajectoryForm(trajectory: unknown): unknown {
  if (!isJsonObject(trajectory) || !isJsonObject(trajectory.guidance)) return trajectory;
  const { guidance: hint, turns, ...rest } = trajectory;
  if (!Array.isArray(turns) || !isJsonObject(turns[0])) return { ...rest, turns };
  return { ...rest, turns: [{ ...turns[0], annotations: { hint } }, ...turns.slice(1)] };
}
