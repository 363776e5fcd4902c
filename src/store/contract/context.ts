import type { Rng } from "../../random.ts";
import { fakeTask, fakeTrajectory } from "../../schema/fake-trajectory.ts";
import type { Trajectory, TrajectoryGroup } from "../../schema/index.ts";
import type { RunReader, RunStore, RunWrites, TrajectoryFilter, TrajectorySummary } from "../store.ts";

/** A place for one run, empty at first. */
export interface StorePlace {
  open(now: () => number): Promise<RunStore>;
  openReader(): Promise<RunReader>;
  remove(): Promise<void>;
}

/** The run of the test that is running. */
export class StoreContext {
  readonly make: () => Promise<StorePlace>;
  #place: StorePlace | undefined;
  #run: RunStore | undefined;
  #time = 0;

  constructor(make: () => Promise<StorePlace>) {
    this.make = make;
  }

  get place(): StorePlace {
    return this.#place!;
  }

  get run(): RunStore {
    return this.#run!;
  }

  async open(): Promise<void> {
    this.#place = await this.make();
    this.#run = await this.#place.open(() => ++this.#time);
  }

  async close(): Promise<void> {
    await this.run.close();
    await this.place.remove();
  }

  async reopen(now = () => ++this.#time): Promise<void> {
    await this.run.close();
    this.#run = await this.place.open(now);
  }

  write(writes: (write: RunWrites) => void): Promise<void> {
    return this.run.transaction(writes);
  }
}

/** Attempts at one task. */
export function fakeGroup(rng: Rng, taskId: string, size: number, fields: Partial<Trajectory> = {}): TrajectoryGroup {
  const trajectories = Array.from({ length: size }, () => fakeTrajectory(rng, { taskId, ...fields }));
  return { task: fakeTask(rng, taskId), trajectories };
}

/** Everything a filter finds. */
export async function everyPage(
  run: RunReader,
  filter: TrajectoryFilter,
  page: { limit?: number; order?: "newest" | "oldest" },
): Promise<TrajectorySummary[]> {
  const all: TrajectorySummary[] = [];
  let { trajectories, next } = await run.trajectories(filter, page);
  all.push(...trajectories);
  while (next !== undefined) {
    ({ trajectories, next } = await run.trajectories(filter, { ...page, after: next }));
    all.push(...trajectories);
  }
  return all;
}

/** Everything a reader can see. */
export async function dump(run: RunReader): Promise<unknown> {
  const summaries = await everyPage(run, {}, { order: "oldest" });
  const names = await run.metricNames();
  return {
    summaries,
    groups: await Promise.all([...new Set(summaries.map(({ group }) => group))].map((key) => run.group(key))),
    metrics: await Promise.all(names.map(async (name) => [name, await run.series(name)])),
    events: await run.events(),
    state: await run.state("guide"),
    config: await run.config(),
    found: await everyPage(run, { text: "search" }, {}),
    latestStep: await run.latestStep(),
  };
}
