import type { Trajectory } from "../schema/trajectory.ts";
import { learnable, type TrajectoryGroup } from "../schema/trajectory-group.ts";

/** The trajectories of each attempt of a group as a role saw it, less the attempts that ended in an infrastructure failure. */
export function soundAttempts(group: TrajectoryGroup, role: string): Trajectory[][] {
  const own = learnable(group).filter((trajectory) => trajectory.role === role);
  return [...Map.groupBy(own, ({ rollout }) => rollout).values()];
}
