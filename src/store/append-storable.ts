import { errorText } from "../errors.ts";
import { encodeTrajectory, type RunEvent, type Trajectory } from "../schema/index.ts";
import { searchableText } from "./search-text.ts";
import type { GroupWrite, RunStore, StepWrites } from "./store.ts";

/**
 * Appends a step without the trajectories that no store can hold, such as one whose arguments are nested too deep or that is too
 * large. The step's events then end with a warning, which is returned too. What concerns the store itself, such as a full
 * disk, is still an error.
 */
export async function appendStorable(store: RunStore, step: number, writes: StepWrites): Promise<RunEvent | undefined> {
  try {
    await store.append(step, writes);
    return undefined;
  } catch (error) {
    const refused = refusedIn(writes.groups ?? []);
    if (refused.size === 0) throw error;
    const warning = warningOf(step, refused);
    const groups = writes.groups!.map((write) => without(write, refused)).filter(isNotEmpty);
    await store.append(step, { ...writes, groups, events: [...(writes.events ?? []), warning] });
    return warning;
  }
}

type Refused = ReadonlyMap<Trajectory, string>;

function refusedIn(groups: readonly GroupWrite[]): Refused {
  const trajectories = groups.flatMap(({ group }) => group.trajectories);
  return new Map(
    trajectories.flatMap((trajectory) => {
      const problem = storageProblem(trajectory);
      return problem === undefined ? [] : [[trajectory, problem] as const];
    }),
  );
}

/** What every store makes of a trajectory, tried alone. */
function storageProblem(trajectory: Trajectory): string | undefined {
  try {
    encodeTrajectory(trajectory);
    searchableText(trajectory);
    return undefined;
  } catch (error) {
    return errorText(error);
  }
}

function warningOf(step: number, refused: Refused): RunEvent {
  const [[{ id }, problem]] = refused;
  const count = refused.size === 1 ? "1 trajectory" : `${refused.size} trajectories`;
  return {
    type: "warning",
    message: `step ${step}: ${count} could not be stored and will not be found in the run; learned from as usual. ${id}: ${problem}`,
  };
}

function without(write: GroupWrite, refused: Refused): GroupWrite {
  const trajectories = write.group.trajectories.filter((trajectory) => !refused.has(trajectory));
  return { ...write, group: { ...write.group, trajectories } };
}

const isNotEmpty = ({ group }: GroupWrite) => group.trajectories.length > 0;
