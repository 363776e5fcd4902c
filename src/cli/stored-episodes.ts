import type { RunReader, StoredTrajectory, TrajectoryFilter, TrajectorySummary } from "../store/index.ts";

const pageSize = 500;

/** What is known of a run's episodes without reading them, oldest first, a page at a time. */
export async function* episodeSummaries(
  reader: RunReader,
  filter: TrajectoryFilter,
): AsyncGenerator<TrajectorySummary> {
  let after: { after?: number } = {};
  for (;;) {
    const page = await reader.trajectories(filter, { order: "oldest", limit: pageSize, ...after });
    yield* page.trajectories;
    if (page.next === undefined) return;
    after = { after: page.next };
  }
}

/** The episodes themselves, one by one. */
export async function* storedEpisodes(reader: RunReader, filter: TrajectoryFilter): AsyncGenerator<StoredTrajectory> {
  for await (const { key } of episodeSummaries(reader, filter)) yield await reader.trajectory(key);
}
