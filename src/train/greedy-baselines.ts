import type { RolloutGroup } from "../rollout/run-group.ts";
import { runRollout } from "../rollout/run-rollout.ts";
import { isInfrastructureStop } from "../schema/stop-reason.ts";
import type { TrainingRun } from "./training-run.ts";

/** The reward of one greedy attempt at the task of each group (ReMax, CodeRL); undefined where that attempt was spoiled. */
export async function greedyBaselines<Data, State>(
  { config, policy }: TrainingRun<Data, State>,
  groups: readonly RolloutGroup<Data>[],
  step: number,
): Promise<(number | undefined)[]> {
  return Promise.all(
    groups.map(async ({ task }, i) => {
      const options = { ...config.rollout, id: `step-${step}/greedy/${i}`, seed: 0, temperature: 0 };
      const { stop, trajectories } = await runRollout(config.env, task, policy, options);
      return isInfrastructureStop(stop) ? undefined : trajectories[0]?.score.total;
    }),
  );
}
