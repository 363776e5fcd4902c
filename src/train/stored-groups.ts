import type { Trajectory } from "../schema/trajectory.ts";
import type { TrajectoryGroup } from "../schema/trajectory-group.ts";
import { type RunReader, type TrajectoryFilter, trainSplit } from "../store/index.ts";
import { checkFilter } from "../store/trajectory-filter.ts";

/**
 * The groups of a run, in the order they were made: whole groups, of which at least one trajectory fits the filter. Those of
 * training, unless the filter names a split.
 */
export async function* storedGroups(run: RunReader, filter: TrajectoryFilter = {}): AsyncGenerator<TrajectoryGroup> {
  checkFilter(filter);
  let last = -1;
  for await (const { group: key } of summaries(run, filter)) {
    if (key === last) continue;
    last = key;
    const { task, trajectories } = await run.group(key);
    yield { task, trajectories };
  }
}

/** The trajectories of a run, one by one: those of training, unless the filter names a split. */
export async function* storedTrajectories(run: RunReader, filter: TrajectoryFilter = {}): AsyncGenerator<Trajectory> {
  checkFilter(filter);
  for await (const { key } of summaries(run, filter)) yield (await run.trajectory(key)).trajectory;
}

async function* summaries(run: RunReader, filter: TrajectoryFilter) {
  let after: { after?: number } = {};
  for (;;) {
    const page = await run.trajectories({ split: trainSplit, ...filter }, { order: "oldest", limit: 200, ...after });
    yield* page.trajectories;
    if (page.next === undefined) return;
    after = { after: page.next };
  }
}
