import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import type { RolloutGroup } from "../../rollout/run-group.ts";
import { metric } from "../../schema/metric-names.ts";
import type { TrajectoryGroup } from "../../schema/trajectory-group.ts";
import { isLost, LostStep } from "./lost-step.ts";
import { pick } from "./pick.ts";
import { rewardStage } from "./reward.ts";
import { type FinishedGroup, rollOut } from "./roll-out.ts";
import { RolloutCosts, rolloutMetrics } from "./rollout-metrics.ts";
import { type Selection, select } from "./select.ts";
import type { Metrics, StepContext } from "./stage-context.ts";

export interface Gathered<Data = unknown> {
  /** All groups that were rolled out. */
  readonly groups: readonly RolloutGroup<Data>[];
  /** What the guide wants learned from besides. It was not sampled in this step, so no filter chooses from it. */
  readonly extra: readonly TrajectoryGroup<Data>[];
  readonly selection: Selection;
  readonly metrics: Metrics;
}

/** Where a step's finished groups come from: rolled out when they are wanted, or ahead of it. */
export interface GroupSource<Data = unknown> {
  /** The next groups, in order. Undefined where the run was stopped meanwhile. */
  take(wanted: number): Promise<readonly RolloutGroup<Data>[] | undefined>;
  /** Tells the guide of the groups that were taken last; what it adds is returned. */
  observe(): Promise<readonly TrajectoryGroup<Data>[]>;
  /** What the groups that were taken cost. */
  readonly metrics: Metrics;
}

/** Picks and rolls out as many groups as are wanted, when they are wanted. */
export function onDemand<Data>(context: StepContext<Data>): GroupSource<Data> {
  const reward = rewardStage(context);
  const costs = new RolloutCosts();
  const counted: StepContext<Data> = {
    ...context,
    onRollout(rollout) {
      costs.add(rollout);
      context.onRollout?.(rollout);
    },
  };
  let offset = 0;
  let finished: FinishedGroup<Data>[] = [];
  return {
    async take(wanted) {
      const leases = await pick(context, wanted);
      finished = [];
      for await (const each of rollOut(counted, { leases, offset, reward })) finished.push(each);
      // a step that is broken off will be made again: the guide must not have seen it
      if (context.signal?.aborted) return undefined;
      finished.sort((a, b) => a.index - b.index);
      offset += finished.length;
      return finished.map(({ group }) => group);
    },
    observe: async () => context.guide.observe(finished),
    get metrics() {
      return { ...costs.metrics, ...reward.metrics };
    },
  };
}

/**
 * The groups of one step, of which at least one attempt was played to its end; else `LostStep` is thrown: pick, roll out, reward, observe and select, again where the filter wants more. Undefined where the run was
 * stopped meanwhile.
 */
export async function gather<Data>(
  context: StepContext<Data>,
  source: GroupSource<Data> = onDemand(context),
): Promise<Gathered<Data> | undefined> {
  const groups: RolloutGroup<Data>[] = [];
  const extra: TrajectoryGroup<Data>[] = [];
  for (let wanted = context.tasksPerStep; ; ) {
    const taken = await source.take(wanted);
    if (taken === undefined) return undefined;
    groups.push(...taken);
    if (isLost(groups)) throw new LostStep(context, groups);
    extra.push(...(await source.observe()));
    const selection = select(context, groups);
    if (selection.refill === 0) {
      checkExtra(groups, extra);
      const limits = { ...context.world.limits, ...context.rollout.limits };
      const metrics = {
        ...selection.metrics,
        ...defined({ [metric.extraGroups]: extra.length || undefined }),
        ...rolloutMetrics(groups, limits.turns),
        ...source.metrics,
      };
      return { groups, extra, selection, metrics };
    }
    wanted = selection.refill;
  }
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
