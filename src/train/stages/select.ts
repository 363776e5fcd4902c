import type { FilterGroup } from "../../credit/group-filter.ts";
import { defined } from "../../defined.ts";
import { createRng } from "../../random.ts";
import type { RolloutGroup } from "../../rollout/run-group.ts";
import type { Trajectory } from "../../schema/trajectory.ts";
import { learnable } from "../../schema/trajectory-group.ts";
import { seedOf } from "../../task/seeds.ts";
import type { ChosenGroup } from "./measure.ts";
import type { Metrics, StepContext } from "./stage-context.ts";

export interface Selection {
  readonly groups: readonly ChosenGroup[];
  /** Groups to roll out before the step has enough; `groups` is not final while it is above 0. */
  readonly refill: number;
  readonly metrics: Metrics;
}

/**
 * Which groups are learned from, by the algorithm's filter. Roles are chosen apart: what one of two opponents wins the other
 * loses, so their rewards taken together always differ.
 */
export function select<Data>(context: StepContext<Data>, groups: readonly RolloutGroup<Data>[]): Selection {
  const { algorithm, tasksPerStep, roles, seed, step } = context;
  const units = groups.flatMap((group) => roles.map((role) => ({ group, role })));
  const { kept, refill, metrics } = algorithm.filter(tasksPerStep * roles.length).choose(
    units.map(({ group, role }) => filterGroup(group, role, context)),
    createRng(seedOf(seed, "filter", step)),
  );
  return {
    groups: kept.map(({ index, scale }) => {
      const { isOffPolicy } = units[index].group;
      return { ...units[index], scale, ...defined({ isOffPolicy }) };
    }),
    refill: Math.ceil(refill / roles.length),
    metrics,
  };
}

function filterGroup(
  { task, ...group }: RolloutGroup,
  role: string,
  { algorithm: { compareWith }, learners }: Pick<StepContext, "algorithm" | "learners">,
): FilterGroup {
  // what a role said with other weights in this group, as an opponent from a pool, is not learned from
  const isOwn = ({ role: own, weights }: Trajectory) => own === role && learners.includes(weights);
  const trajectories = learnable({ task, ...group }).filter(isOwn);
  const others = compareWith?.({ task, trajectories }) ?? [];
  return { id: task.id, rewards_G: [...rolloutRewards(trajectories), ...others] };
}

/** One reward for each rollout and role, whatever number of trajectories it has. */
export function rolloutRewards(trajectories: readonly Trajectory[]): number[] {
  const rewards = new Map<string, number>();
  for (const { rollout, role, score } of trajectories) rewards.set(`${rollout} ${role}`, score.total);
  return [...rewards.values()];
}
