import { policyWeights } from "../../engine/engine.ts";
import { metric } from "../../schema/metric-names.ts";
import type { TrajectoryGroup } from "../../schema/trajectory-group.ts";

/** The policy's version when a step began. */
export interface StepStart {
  readonly step: number;
  readonly version: number;
}

// a token that is older counts as this old
const remembered = 1024;

/** How many steps old tokens are: versions are counted in updates, of which a step may have several. */
export class StepStarts {
  #starts: StepStart[];

  constructor(starts: readonly StepStart[] = []) {
    this.#starts = [...starts];
  }

  begin(step: number, version: number): void {
    this.#starts = [...this.#starts.filter((start) => start.step < step), { step, version }].slice(-remembered);
  }

  state(): readonly StepStart[] {
    return this.#starts;
  }

  /** Steps between the one a token was sampled in and the last that began. */
  ageOf(version: number): number {
    const last = this.#starts.at(-1)?.step ?? 0;
    const own = this.#starts.findLast((start) => start.version <= version) ?? this.#starts[0];
    return own === undefined ? 0 : last - own.step;
  }

  /** Ages of the sampled tokens of groups, and how many tokens have each. */
  ages(groups: readonly TrajectoryGroup[]): Map<number, number> {
    const counts = new Map<number, number>();
    const known = new Map<number, number>();
    for (const { weights, mask_T, versions_T } of groups.flatMap(({ trajectories }) => trajectories)) {
      if (weights !== policyWeights) continue;
      for (let t = 0; t < mask_T.length; t++) {
        if (mask_T[t] === 0) continue;
        const version = versions_T[t];
        const age = known.get(version) ?? this.ageOf(version);
        known.set(version, age);
        counts.set(age, (counts.get(age) ?? 0) + 1);
      }
    }
    return counts;
  }
}

const bins = [
  { name: "0", to: 0 },
  { name: "1", to: 1 },
  { name: "2-3", to: 3 },
  { name: "4-7", to: 7 },
  { name: "8-15", to: 15 },
  { name: "16+", to: Number.POSITIVE_INFINITY },
];

/** Mean and largest age of the tokens of a step, in steps, and the share of tokens of each age. */
export function stalenessMetrics(ages: ReadonlyMap<number, number>): Record<string, number> {
  const tokens = [...ages.values()].reduce((a, b) => a + b, 0);
  if (tokens === 0) return {};
  const shares = bins.map(() => 0);
  let [total, max] = [0, 0];
  for (const [age, count] of ages) {
    total += age * count;
    max = Math.max(max, age);
    shares[bins.findIndex(({ to }) => age <= to)] += count / tokens;
  }
  return {
    [metric.stalenessMean]: total / tokens,
    [metric.stalenessMax]: max,
    ...Object.fromEntries(bins.map(({ name }, i) => [metric.staleness(name), shares[i]])),
  };
}
