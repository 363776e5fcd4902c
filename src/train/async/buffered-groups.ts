import type { TrajectoryGroup } from "../../schema/trajectory-group.ts";
import { type RunReader, type TrajectoryFilter, trainSplit } from "../../store/index.ts";

/** Groups that finished and wait for a step. The step that takes one stores it as its own, and this copy is removed with the same write. */
export const bufferedSplit = "buffered";

/** The place of a group that was rolled out for a step, from the name of one of its rollouts; undefined for other groups. */
export function slotName(rollout: string): string | undefined {
  return /^(step-\d+\/\d+)(\+\d+)?\/\d+(~\d+)?$/.exec(rollout)?.slice(1, 3).join("");
}

export interface FinishedGroups {
  /** Each once, in the order they were begun. */
  readonly groups: readonly TrajectoryGroup[];
  /** Of them, those that would be forgotten with what belongs to later steps. */
  readonly later: readonly TrajectoryGroup[];
}

/** Groups that no step up to this one took: those that wait, and those that later steps took. */
export async function finishedGroups(store: RunReader, step: number): Promise<FinishedGroups> {
  const found = new Map<string, { group: TrajectoryGroup; isLater: boolean }>();
  const filters = [{ split: bufferedSplit }, { split: trainSplit, steps: { from: step + 1 } }];
  for (const filter of filters) {
    for await (const { key, rollout, step: own } of groupKeys(store, filter)) {
      const name = slotName(rollout);
      if (name === undefined || found.has(name)) continue;
      const { task, trajectories } = await store.group(key);
      found.set(name, { group: { task, trajectories }, isLater: own > step });
    }
  }
  const inOrder = [...found].sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true })).map(([, each]) => each);
  return {
    groups: inOrder.map(({ group }) => group),
    later: inOrder.filter(({ isLater }) => isLater).map(({ group }) => group),
  };
}

/** Keys of buffered groups, by a rollout of each; those that are not stored have none. */
export async function bufferedKeys(store: RunReader, rollouts: readonly string[]): Promise<number[]> {
  const keys: number[] = [];
  for (const rollout of rollouts) {
    const page = await store.trajectories({ split: bufferedSplit, rollout }, { limit: 1 });
    keys.push(...page.trajectories.map(({ group }) => group));
  }
  return keys;
}

async function* groupKeys(store: RunReader, filter: TrajectoryFilter) {
  const seen = new Set<number>();
  let after: { after?: number } = {};
  for (;;) {
    const page = await store.trajectories(filter, { order: "oldest", limit: 1000, ...after });
    for (const { group: key, rollout, step } of page.trajectories) {
      if (seen.has(key)) continue;
      seen.add(key);
      yield { key, rollout, step };
    }
    if (page.next === undefined) return;
    after = { after: page.next };
  }
}
