import { runRollout } from "../rollout/run-rollout.ts";
import { isInfrastructureStop } from "../schema/stop-reason.ts";
import type { TrajectoryGroup } from "../schema/trajectory-group.ts";
import type { TrainingRun } from "./training-run.ts";

/**
 * For each group what a greedy attempt at its task earned, by role (ReMax, CodeRL). Groups whose greedy attempt was spoiled by
 * the infrastructure are absent: there is nothing to compare them with.
 */
export async function greedyBaselines<Data, State>(
  { config, policy }: TrainingRun<Data, State>,
  groups: readonly TrajectoryGroup<Data>[],
  step: number,
): Promise<Map<TrajectoryGroup<Data>, Readonly<Record<string, number>>>> {
  const attempts = await Promise.all(
    groups.map(async (group, i) => {
      const options = { ...config.rollout, id: `step-${step}/greedy/${i}`, seed: 0, temperature: 0 };
      const { stop, trajectories } = await runRollout(config.env, group.task, policy, options);
      const rewards = Object.fromEntries(trajectories.map(({ role, score }) => [role, score.total]));
      return { group, rewards, isSound: !isInfrastructureStop(stop) };
    }),
  );
  return new Map(attempts.filter(({ isSound }) => isSound).map(({ group, rewards }) => [group, rewards]));
}
