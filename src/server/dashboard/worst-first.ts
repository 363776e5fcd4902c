import { bounds } from "../../bounds.ts";
import { defined } from "../../defined.ts";
import { isInfrastructureStop } from "../../schema/index.ts";
import type { RunReader, TrajectoryFilter, TrajectoryPage, TrajectorySummary } from "../../store/index.ts";

const pageSize = 1000;

/** A page of episodes: those that failed through no fault of the policy first, then unsolved ones by reward, solved ones last. */
export async function worstFirst(
  reader: RunReader,
  filter: TrajectoryFilter,
  skip: number,
  limit: number,
): Promise<TrajectoryPage> {
  const found: TrajectorySummary[] = [];
  let after: number | undefined;
  do {
    const page = await reader.trajectories(filter, { limit: pageSize, order: "newest", ...defined({ after }) });
    found.push(...page.trajectories);
    after = page.next;
  } while (after !== undefined && found.length < bounds.sortedEpisodes);
  found.sort((a, b) => badness(a) - badness(b) || a.reward - b.reward || b.step - a.step || a.key - b.key);
  const next = skip + limit;
  return { trajectories: found.slice(skip, next), ...defined({ next: next < found.length ? next : undefined }) };
}

function badness({ stop, success }: TrajectorySummary): number {
  return isInfrastructureStop(stop) ? 0 : success ? 2 : 1;
}
