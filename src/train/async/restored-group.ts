import { defined } from "../../defined.ts";
import type { Rollout } from "../../rollout/rollout.ts";
import type { RolloutGroup } from "../../rollout/run-group.ts";
import type { Trajectory } from "../../schema/trajectory.ts";
import type { TrajectoryGroup } from "../../schema/trajectory-group.ts";
import { sum } from "../../statistics.ts";
import { slotName } from "./buffered-groups.ts";

/** A stored group as it was when its rollouts ended, without their times. Its weights are gone where they are newer than the version. */
export function rolloutGroup<Data>(
  stored: TrajectoryGroup,
  policyVersion: number,
): { readonly name: string; readonly group: RolloutGroup<Data> } {
  // what a task's data is was checked by its environment when it was made
  const { task, trajectories } = stored as TrajectoryGroup<Data>;
  const rollouts = [...Map.groupBy(trajectories, ({ rollout }) => rollout)].map(([id, own]): Rollout<Data> => {
    const { stop, failure } = own[0];
    return { id, task, trajectories: own, stop, timing: { sampleMs: 0, totalMs: 0 }, ...defined({ failure }) };
  });
  const isOffPolicy = trajectories.some(({ mask_T, versions_T }) =>
    mask_T.some((m, t) => m === 1 && versions_T[t] > policyVersion),
  );
  const name = slotName(trajectories[0].rollout) ?? trajectories[0].rollout;
  return { name, group: { task, trajectories, rollouts, ...defined({ isOffPolicy: isOffPolicy || undefined }) } };
}

export function sampledTokens(trajectories: readonly Trajectory[]): number {
  return sum(trajectories.map(({ mask_T }) => sum(mask_T)));
}
