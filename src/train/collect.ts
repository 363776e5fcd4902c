import type { FilterChoice, FilterGroup } from "../credit/group-filter.ts";
import { defined } from "../defined.ts";
import type { Env } from "../env/env.ts";
import { LudusError } from "../errors.ts";
import type { Guide } from "../guide/guide.ts";
import { createRng } from "../random.ts";
import type { Policy, Rollout, RolloutOptions } from "../rollout/rollout.ts";
import { type RolloutGroup, runGroup } from "../rollout/run-group.ts";
import type { Trajectory } from "../schema/trajectory.ts";
import { learnable, type TrajectoryGroup } from "../schema/trajectory-group.ts";
import { seedOf } from "../task/seeds.ts";
import type { Algorithm } from "./algorithm.ts";
import { scheduleAt } from "./schedule.ts";

export interface CollectOptions<Data, State> {
  readonly env: Env<Data, State>;
  readonly policy: Policy;
  readonly algorithm: Algorithm;
  readonly guide: Guide<Data>;
  /** Groups of a step. */
  readonly tasksPerStep: number;
  /** Roles that learn. */
  readonly roles: readonly string[];
  readonly step: number;
  /** Share of the run that is done. */
  readonly progress: number;
  readonly seed: number;
  readonly rollout: Pick<RolloutOptions, "limits" | "format" | "context">;
  readonly signal?: AbortSignal;
  readonly onRollout?: (rollout: Rollout) => void;
}

export interface Collected<Data = unknown> {
  /** All groups that were rolled out. */
  readonly groups: readonly RolloutGroup<Data>[];
  /** What the guide wants learned from besides. It was not sampled, so no filter chooses from it. */
  readonly extra: readonly TrajectoryGroup<Data>[];
  /** What is chosen from: each group as each role that learns saw it. */
  readonly units: readonly Unit<Data>[];
  /** Indices are into `units`. */
  readonly choice: FilterChoice;
}

export interface Unit<Data = unknown> {
  readonly group: RolloutGroup<Data>;
  readonly role: string;
}

/**
 * Rolls out a step's groups, and more where the filter wants more. Roles are chosen apart: what one of two opponents wins the
 * other loses, so their rewards taken together always differ.
 */
export async function collect<Data, State>(options: CollectOptions<Data, State>): Promise<Collected<Data>> {
  const { algorithm, tasksPerStep, step, seed, roles } = options;
  const filter = algorithm.filter(tasksPerStep * roles.length);
  const rng = createRng(seedOf(seed, "filter", step));
  const groups: RolloutGroup<Data>[] = [];
  const extra: TrajectoryGroup<Data>[] = [];
  const rollOutMore = async (count: number) => {
    const more = await rollOut(options, count, groups.length);
    groups.push(...more.groups);
    extra.push(...more.extra);
  };
  await rollOutMore(tasksPerStep);
  const unitsOf = () => groups.flatMap((group) => roles.map((role): Unit<Data> => ({ group, role })));
  let units = unitsOf();
  const choose = () =>
    filter.choose(
      units.map((unit) => filterGroup(unit, algorithm)),
      rng,
    );
  let choice = choose();
  while (choice.refill > 0 && options.signal?.aborted !== true) {
    await rollOutMore(Math.ceil(choice.refill / roles.length));
    units = unitsOf();
    choice = choose();
  }
  checkExtra(groups, extra);
  return { groups, extra, units, choice };
}

async function rollOut<Data, State>(options: CollectOptions<Data, State>, count: number, offset: number) {
  const { env, policy, algorithm, guide, step, progress, seed, signal, onRollout } = options;
  const { temperature, ...sampling } = algorithm.sampling;
  const leases = await guide.pick(count);
  const groups = await Promise.all(
    leases.map(({ task }, i) =>
      runGroup(env, task, policy, {
        ...options.rollout,
        ...sampling,
        temperature: scheduleAt(temperature, progress),
        id: `step-${step}/${offset + i}`,
        seed: seedOf(seed, `step-${step}`, offset + i),
        size: algorithm.groupSize,
        ...defined({ signal, onRollout }),
      }),
    ),
  );
  // a step that is broken off will be made again: the guide must not have seen it
  if (signal?.aborted === true) return { groups, extra: [] };
  return { groups, extra: await guide.observe(groups.map((group, i) => ({ lease: leases[i], group }))) };
}

/** Advantages are stored by the id of a trajectory, and replay finds groups by their rollouts. */
function checkExtra(groups: readonly TrajectoryGroup[], extra: readonly TrajectoryGroup[]): void {
  const taken = new Set(
    groups.flatMap(({ trajectories }) => trajectories.flatMap(({ id, rollout }) => [`id ${id}`, `rollout ${rollout}`])),
  );
  for (const { id, rollout } of extra.flatMap(({ trajectories }) => trajectories)) {
    const got = [`id ${id}`, `rollout ${rollout}`].find((name) => taken.has(name));
    if (got === undefined) continue;
    throw new LudusError("bad-extra-group", {
      got: `a trajectory with the ${got} of one that was sampled`,
      expected: "trajectories with an id and a rollout of their own in what observe returns",
      hint: "Append something to both, such as /relabelled.",
    });
  }
}

function filterGroup({ group, role }: Unit, { compareWith }: Algorithm): FilterGroup {
  const { task } = group;
  const trajectories = learnable(group).filter((trajectory) => trajectory.role === role);
  return {
    id: task.id,
    rewards_G: [...rolloutRewards(trajectories), ...(compareWith?.({ task, trajectories }) ?? [])],
  };
}

/** One reward for each rollout and role, whatever number of trajectories it has. */
export function rolloutRewards(trajectories: readonly Trajectory[]): number[] {
  const rewards = new Map<string, number>();
  for (const { rollout, role, score } of trajectories) rewards.set(`${rollout} ${role}`, score.total);
  return [...rewards.values()];
}
