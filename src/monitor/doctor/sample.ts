import { isInfrastructureStop } from "../../schema/stop-reason.ts";
import type { Trajectory } from "../../schema/trajectory.ts";
import { learnable } from "../../schema/trajectory-group.ts";
import type { RunView, SampledGroup } from "./detector.ts";

/** Groups of the last quarter of the sampled steps. */
export function recentGroups({ groups }: RunView): readonly SampledGroup[] {
  const steps = [...new Set(groups.map(({ step }) => step))].sort((a, b) => a - b);
  const first = steps.at(-Math.max(1, Math.floor(steps.length / 4)));
  return first === undefined ? [] : groups.filter(({ step }) => step >= first);
}

/** Trajectories that did not end through the infrastructure's fault. */
export function soundTrajectories(groups: readonly SampledGroup[]): Trajectory[] {
  return groups.flatMap(({ trajectories }) => trajectories.filter(({ stop }) => !isInfrastructureStop(stop)));
}

/** One reward for each rollout and role of a group that may be learned from. */
export function rewardsOf(group: SampledGroup): number[] {
  return rolloutRewards(learnable(group));
}

export function rolloutRewards(trajectories: readonly Trajectory[]): number[] {
  const rewards = new Map<string, number>();
  for (const { rollout, role, score } of trajectories) rewards.set(`${rollout} ${role}`, score.total);
  return [...rewards.values()];
}

/** For evidence: a few ids. */
export function someIds(trajectories: readonly Pick<Trajectory, "id">[]): string[] {
  return trajectories.slice(0, 3).map(({ id }) => id);
}

/** How often each value occurs, most frequent first. */
export function countsOf(values: readonly string[]): [value: string, count: number][] {
  const counts = [...Map.groupBy(values, (value) => value)].map(([value, { length }]): [string, number] => [
    value,
    length,
  ]);
  return counts.sort(([, a], [, b]) => b - a);
}
