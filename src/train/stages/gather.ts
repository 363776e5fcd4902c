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

/**
 * The groups of one step, of which at least one attempt was played to its end; else `LostStep` is thrown: pick, roll out, reward, observe and select, again where the filter wants more. Undefined where the run was
 * stopped meanwhile.
 */
export async function gather<Data>(context: StepContext<Data>): Promise<Gathered<Data> | undefined> {
  const reward = rewardStage(context);
  const costs = new RolloutCosts();
  const counted: StepContext<Data> = {
    ...context,
    onRollout(rollout) {
      costs.add(rollout);
      context.onRollout?.(rollout);
    },
  };
  const groups: RolloutGroup<Data>[] = [];
  const extra: TrajectoryGroup<Data>[] = [];
  for (let wanted = context.tasksPerStep; ; ) {
    const leases = await pick(context, wanted);
    const finished: FinishedGroup<Data>[] = [];
    for await (const each of rollOut(counted, { leases, offset: groups.length, reward })) finished.push(each);
    // a step that is broken off will be made again: the guide must not have seen it
    if (context.signal?.aborted) return undefined;
    finished.sort((a, b) => a.index - b.index);
    groups.push(...finished.map(({ group }) => group));
    if (isLost(groups)) throw new LostStep(context, groups);
    extra.push(...(await context.guide.observe(finished)));
    const selection = select(context, groups);
    if (selection.refill === 0) {
      checkExtra(groups, extra);
      const limits = { ...context.world.limits, ...context.rollout.limits };
      const metrics = {
        ...selection.metrics,
        ...defined({ [metric.extraGroups]: extra.length || undefined }),
        ...rolloutMetrics(groups, limits.turns),
        ...costs.metrics,
        ...reward.metrics,
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
