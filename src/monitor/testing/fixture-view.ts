import { defined } from "../../defined.ts";
import { decodeTrajectory, encodeTrajectory, type RunEvent } from "../../schema/index.ts";
import type { RunView, SampledGroup } from "../doctor/detector.ts";

/** A recorded run as JSON: all series, and the groups of one step. */
export interface RunFixture {
  readonly name: string;
  readonly fires: readonly string[];
  readonly mayFire: readonly string[];
  readonly config: unknown;
  /** Failures; absent where there were none. */
  readonly events?: readonly RunEvent[];
  readonly series: Readonly<Record<string, readonly (readonly [step: number, value: number | null])[]>>;
  readonly groups: readonly {
    readonly step: number;
    readonly task: string;
    readonly trajectories: readonly string[];
  }[];
}

// what no detector looks at
const left = /^(time|speed|reward|credit|guide|loss|imitate)\/|^update\/loss\//;

export function fixtureOf(
  { series, groups, config, events }: RunView,
  names: readonly string[],
  about: Pick<RunFixture, "name" | "fires" | "mayFire">,
): RunFixture {
  const lastStep = Math.max(...groups.map(({ step }) => step));
  const failures = events.filter(({ type }) => type === "failure");
  return {
    ...about,
    config,
    ...defined({ events: failures.length === 0 ? undefined : failures }),
    series: Object.fromEntries(
      names
        .filter((name) => !left.test(name))
        .map((name) => [name, series(name).map(({ step, value }) => [step, Number(value.toPrecision(5))] as const)]),
    ),
    groups: groups
      .filter(({ step }) => step === lastStep)
      .map(({ step, task, trajectories }) => ({
        step,
        task: task.id,
        trajectories: trajectories.map((trajectory) => Buffer.from(encodeTrajectory(trajectory)).toString("base64")),
      })),
  };
}

export function viewOf(fixture: RunFixture): RunView {
  const series = new Map(
    Object.entries(fixture.series).map(([name, points]) => [
      name,
      points.map(([step, given]) => {
        // JSON has no NaN
        const value = given ?? Number.NaN;
        return { step, value, max: value };
      }),
    ]),
  );
  const groups = fixture.groups.map(
    ({ step, task, trajectories }): SampledGroup => ({
      step,
      task: { id: task, seed: 0, data: undefined },
      trajectories: trajectories.map((bytes) => decodeTrajectory(new Uint8Array(Buffer.from(bytes, "base64")))),
    }),
  );
  return { config: fixture.config, events: fixture.events ?? [], groups, series: (name) => series.get(name) ?? [] };
}
