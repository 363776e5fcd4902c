import type { TrajectoryGroup } from "../schema/trajectory-group.ts";
import type { Collected } from "./collect.ts";
import { greedyBaselines } from "./greedy-baselines.ts";
import type { ChosenGroup } from "./measure-batch.ts";
import type { TrainingRun } from "./training-run.ts";

interface RoleGroup<Data> extends ChosenGroup {
  readonly group: TrajectoryGroup<Data>;
  readonly role: string;
}

/** What a step learns from: the filter's choice, compared with greedy attempts where credit wants that, and what is replayed; also what the guide adds. */
export async function chooseGroups<Data, State>(
  run: TrainingRun<Data, State>,
  { units, choice, extra }: Collected<Data>,
  step: number,
): Promise<ChosenGroup[]> {
  const kept: RoleGroup<Data>[] = [
    ...choice.kept.map(({ index, scale }) => ({ ...units[index], scale })),
    ...extra.flatMap((group) => run.roles.map((role) => ({ group, role, scale: 1, isOffPolicy: true }))),
  ];
  const fresh = run.config.algorithm.credit.needs.greedyBaseline ? await compared(run, kept, step) : kept;
  return [...fresh, ...(await run.replayed(fresh, step))];
}

async function compared<Data, State>(
  run: TrainingRun<Data, State>,
  kept: readonly RoleGroup<Data>[],
  step: number,
): Promise<ChosenGroup[]> {
  const groups = [...new Set(kept.map(({ group }) => group))];
  const baselines = await greedyBaselines(run, groups, step);
  return kept.flatMap((each) => {
    const known = baselines.get(each.group);
    // a role that did not get to speak in the greedy attempt has nothing to be compared with either
    return known?.[each.role] === undefined ? [] : [{ ...each, baselines: known }];
  });
}
