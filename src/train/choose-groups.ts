import type { Collected } from "./collect.ts";
import { greedyBaselines } from "./greedy-baselines.ts";
import type { ChosenGroup } from "./measure-batch.ts";
import type { TrainingRun } from "./training-run.ts";

/** What a step learns from: the filter's choice, compared with greedy attempts where credit wants that, and what is replayed. */
export async function chooseGroups<Data, State>(
  run: TrainingRun<Data, State>,
  { units, choice }: Collected<Data>,
  step: number,
): Promise<ChosenGroup[]> {
  const kept = choice.kept.map(({ index, scale }): ChosenGroup => ({ ...units[index], scale }));
  const fresh = run.config.algorithm.credit.needs.greedyBaseline ? await compared(run, units, choice, step) : kept;
  return [...fresh, ...(await run.replayed(fresh, step))];
}

async function compared<Data, State>(
  run: TrainingRun<Data, State>,
  units: Collected<Data>["units"],
  { kept }: Collected<Data>["choice"],
  step: number,
): Promise<ChosenGroup[]> {
  const groups = [...new Set(kept.map(({ index }) => units[index].group))];
  const baselines = await greedyBaselines(run, groups, step);
  return kept.flatMap(({ index, scale }) => {
    const { group, role } = units[index];
    const known = baselines.get(group);
    // a role that did not get to speak in the greedy attempt has nothing to be compared with either
    return known?.[role] === undefined ? [] : [{ group, role, scale, baselines: known }];
  });
}
