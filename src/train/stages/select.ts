import type { FilterGroup } from "../../credit/group-filter.ts";
import { createRng } from "../../random.ts";
import type { RolloutGroup } from "../../rollout/run-group.ts";
import { runRollout } from "../../rollout/run-rollout.ts";
import type { World } from "../../rollout/world.ts";
import { isInfrastructureStop } from "../../schema/stop-reason.ts";
import type { Trajectory } from "../../schema/trajectory.ts";
import { learnable } from "../../schema/trajectory-group.ts";
import { seedOf } from "../../task/seeds.ts";
import type { Algorithm } from "../algorithm.ts";
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
    units.map(({ group, role }) => filterGroup(group, role, algorithm)),
    createRng(seedOf(seed, "filter", step)),
  );
  return {
    groups: kept.map(({ index, scale }) => ({ ...units[index], scale })),
    refill: Math.ceil(refill / roles.length),
    metrics,
  };
}

function filterGroup(group: RolloutGroup, role: string, { guidance }: Algorithm): FilterGroup {
  const trajectories = learnable(group).filter((trajectory) => trajectory.role === role);
  const isGuided = trajectories.some((trajectory) => trajectory.guidance !== undefined);
  // learned from without the hint, they are compared with attempts that had none
  const failures = isGuided && guidance === "stripped" ? (group.task.guidance?.failures ?? []) : [];
  return { id: group.task.id, rewards_G: [...rolloutRewards(trajectories), ...failures] };
}

/** One reward for each rollout and role, whatever number of trajectories it has. */
export function rolloutRewards(trajectories: readonly Trajectory[]): number[] {
  const rewards = new Map<string, number>();
  for (const { rollout, role, score } of trajectories) rewards.set(`${rollout} ${role}`, score.total);
  return [...rewards.values()];
}

/** What is learned from beside the selection: greedy attempts to compare with, where credit needs them, and replayed groups. */
export async function complete<Data>(
  context: StepContext<Data>,
  { groups }: Selection,
): Promise<readonly ChosenGroup[]> {
  const { algorithm, replay, policy, seed, step } = context;
  const fresh = algorithm.credit.needs.greedyBaseline ? await withBaselines(context, groups) : groups;
  const rng = createRng(seedOf(seed, "replay", step));
  const replayed = (await replay?.draw({ engine: policy.engine, fresh, rng })) ?? [];
  return [...fresh, ...replayed];
}

/**
 * For each group what a greedy attempt at its task earned, by role (ReMax, CodeRL). Groups whose greedy attempt ended in an
 * infrastructure failure are left out: there is nothing to compare them with.
 */
async function withBaselines<Data>(
  { world, policy, rollout, step, limit }: StepContext<Data>,
  chosen: readonly ChosenGroup[],
): Promise<ChosenGroup[]> {
  const anyWorld: World = world;
  const groups = [...new Set(chosen.map(({ group }) => group))];
  const attempts = groups.map((group, i) =>
    limit(async () => {
      const options = { ...rollout, id: `step-${step}/greedy/${i}`, seed: 0, temperature: 0 };
      const { stop, trajectories } = await runRollout(anyWorld, group.task, policy, options);
      const rewards = Object.fromEntries(trajectories.map(({ role, score }) => [role, score.total]));
      return { group, rewards, isSound: !isInfrastructureStop(stop) };
    }),
  );
  const sound = (await Promise.all(attempts)).filter(({ isSound }) => isSound);
  const baselines = new Map(sound.map(({ group, rewards }) => [group, rewards]));
  return chosen.flatMap((each) => {
    const known = baselines.get(each.group);
    // a role that did not get to speak in the greedy attempt has nothing to be compared with either
    return known === undefined || (each.role !== undefined && known[each.role] === undefined)
      ? []
      : [{ ...each, baselines: known }];
  });
}
