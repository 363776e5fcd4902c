import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { metric } from "../../schema/metric-names.ts";
import type { RunReader } from "../../store/index.ts";
import type { RunView, SampledGroup, SeriesPoint } from "./detector.ts";

export interface StoredViewOptions {
  /** Longer series are joined to this many points. */
  maxPoints: number;
  /** Steps whose groups are read, spread evenly over the run, the last ones always among them. */
  sampledSteps: number;
  /** No further step is read once this many trajectories are. */
  maxTrajectories: number;
  /** Steps that must be among them. */
  steps: readonly number[];
}

const knownStoredViewOptions: KnownOptions<StoredViewOptions> = {
  maxPoints: true,
  sampledSteps: true,
  maxTrajectories: true,
  steps: true,
};

const defaults: StoredViewOptions = { maxPoints: 4000, sampledSteps: 24, maxTrajectories: 6000, steps: [] };
const lastSteps = 4;
const page = 1000;

/** A run in a folder as detectors see it: all its metrics, and a sample of what happened in it. */
export async function storedView(reader: RunReader, options: Partial<StoredViewOptions> = {}): Promise<RunView> {
  refuseUnknownOptions("storedView", options, knownStoredViewOptions);
  const chosen = { ...defaults, ...options };
  const series = new Map<string, SeriesPoint[]>();
  for (const name of await reader.metricNames()) {
    const points = await reader.series(name, { maxPoints: chosen.maxPoints });
    series.set(
      name,
      points.map(({ step, value, max }) => ({ step, value, max })),
    );
  }
  const events = await reader.events({ types: ["eval-end", "failure", "finding", "warning", "run-end"] });
  const steps = (await reader.series(metric.reward)).map(({ step }) => step);
  return {
    series: (name) => series.get(name) ?? [],
    groups: await readGroups(reader, sampledSteps(steps, chosen), chosen.maxTrajectories),
    config: await reader.config(),
    events: events.map(({ event }) => event),
  };
}

/** The most wanted first: those asked for, the last ones, then evenly spaced ones from the last to the first. */
function sampledSteps(steps: readonly number[], { sampledSteps: count, steps: wanted }: StoredViewOptions): number[] {
  const every = Math.max(1, Math.ceil(steps.length / count));
  const spaced = steps.filter((_, i) => i % every === 0).reverse();
  return [...new Set([...wanted, ...steps.slice(-lastSteps).reverse(), ...spaced])];
}

async function readGroups(
  reader: RunReader,
  steps: readonly number[],
  maxTrajectories: number,
): Promise<SampledGroup[]> {
  const groups: SampledGroup[] = [];
  let read = 0;
  for (const step of steps) {
    if (read >= maxTrajectories) break;
    for (const key of await groupKeys(reader, step)) {
      const { task, trajectories } = await reader.group(key);
      groups.push({ step, task, trajectories });
      read += trajectories.length;
    }
  }
  return groups.sort((a, b) => a.step - b.step);
}

async function groupKeys(reader: RunReader, step: number): Promise<Set<number>> {
  const keys = new Set<number>();
  let after: number | undefined;
  do {
    const filter = { steps: { from: step, to: step }, split: "train" };
    const from = after === undefined ? {} : { after };
    const { trajectories, next } = await reader.trajectories(filter, { limit: page, order: "oldest", ...from });
    for (const { group } of trajectories) keys.add(group);
    after = next;
  } while (after !== undefined);
  return keys;
}
