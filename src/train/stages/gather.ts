import type { RolloutGroup } from "../../rollout/run-group.ts";
import { pick } from "./pick.ts";
import type { RewardStage } from "./reward.ts";
import { type FinishedGroup, rollOut } from "./roll-out.ts";
import { type Selection, select } from "./select.ts";
import type { StepContext } from "./stage-context.ts";

export interface Gathered<Data = unknown> {
  /** All groups that were rolled out. */
  readonly groups: readonly RolloutGroup<Data>[];
  readonly selection: Selection;
}

/**
 * The groups of one step: pick, roll out, reward, observe and select, again where the filter wants more. Undefined where the run was
 * stopped meanwhile.
 */
export async function gather<Data>(
  context: StepContext<Data>,
  reward: RewardStage,
): Promise<Gathered<Data> | undefined> {
  const groups: RolloutGroup<Data>[] = [];
  for (let wanted = context.tasksPerStep; ; ) {
    const leases = await pick(context, wanted);
    const finished: FinishedGroup<Data>[] = [];
    for await (const each of rollOut(context, { leases, offset: groups.length, reward })) finished.push(each);
    // a step that is broken off will be made again: the guide must not have seen it
    if (context.signal?.aborted) return undefined;
    groups.push(...finished.sort((a, b) => a.index - b.index).map(({ group }) => group));
    context.guide.observe(groups.slice(-finished.length));
    const selection = select(context, groups);
    if (selection.refill === 0) return { groups, selection };
    wanted = selection.refill;
  }
}
