import type { Rng } from "../../random.ts";
import { fakeTask, fakeTrajectory } from "../../schema/fake-trajectory.ts";
import type { Trajectory, TrajectoryGroup } from "../../schema/index.ts";
import type { RunCatalog } from "../run-catalog.ts";
import type { RunReader, RunStore, StepWrites, TrajectoryFilter, TrajectorySummary } from "../store.ts";

/** A catalog without runs, for one test. */
export interface StorePlace {
  readonly runs: RunCatalog;
  remove(): Promise<void>;
}

/** The id of the run that a test is about. */
const runId = "the run";

/** The run of the test that is running. */
export class StoreContext {
  readonly make: () => Promise<StorePlace>;
  #place: StorePlace | undefined;
  #run: RunStore | undefined;
  #time = 0;

  constructor(make: () => Promise<StorePlace>) {
    this.make = make;
  }

  /** Set by `open`, before each test. */
  get place(): StorePlace {
    return this.#place!;
  }

  get runs(): RunCatalog {
    return this.place.runs;
  }

  get run(): RunStore {
    return this.#run!;
  }

  async open(): Promise<void> {
    this.#place = await this.make();
    this.#run = await this.runs.openForWriting(runId, { now: () => ++this.#time });
  }

  async close(): Promise<void> {
    await this.run.close();
    await this.place.remove();
  }

  async reopen(now = () => ++this.#time): Promise<void> {
    await this.run.close();
    this.#run = await this.runs.openForWriting(runId, { now });
  }

  reader(): Promise<RunReader> {
    return this.runs.open(runId);
  }

  secondWriter(): Promise<RunStore> {
    return this.runs.openForWriting(runId, { now: () => 0 });
  }

  append(step: number, writes: StepWrites): Promise<void> {
    return this.run.append(step, writes);
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
