import type { EvalReport } from "../eval/evaluate.ts";
import { isSuccess } from "../eval/evaluate.ts";
import type { Rollout } from "../rollout/rollout.ts";
import { isInfrastructureStop } from "../schema/stop-reason.ts";
import { type GroupWrite, heldOutSplit, type RunReader, type TrajectorySummary } from "../store/index.ts";

/** Episodes of an evaluation that stay stored once there is a later one. */
export const defaultRetainedEpisodes = 50;

/**
 * The episodes of an evaluation as they are stored. Ids begin with `name`, for the same tasks are attempted again in every
 * evaluation. Tasks that failed come first, by how their attempts stopped, so that keys in order are episodes in that order.
 */
export function heldOutGroups({ rollouts, attempts }: EvalReport, name: string): GroupWrite[] {
  const groups = Array.from({ length: rollouts.length / attempts }, (_, i) =>
    rollouts.slice(i * attempts, (i + 1) * attempts),
  );
  return groups
    .filter((group) => group.some(({ trajectories }) => trajectories.length > 0))
    .sort((a, b) => successes(a) - successes(b) || compareText(failureClass(a), failureClass(b)))
    .map((group) => ({
      split: heldOutSplit,
      group: {
        task: group[0].task,
        trajectories: group.flatMap(({ trajectories }) =>
          trajectories.map((each) => ({ ...each, id: `${name}/${each.id}`, rollout: `${name}/${each.rollout}` })),
        ),
      },
    }));
}

function successes(group: readonly Rollout[]): number {
  return group.filter(isSuccess).length;
}

/** How the first attempt that failed stopped; infrastructure failures come before what the policy did. */
function failureClass(group: readonly Rollout[]): string {
  const { stop } = group.find((rollout) => !isSuccess(rollout)) ?? group[0];
  return `${isInfrastructureStop(stop) ? 0 : 1} ${stop}`;
}

const compareText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

export interface Outdated {
  /** The evaluation that is recorded now: what an earlier try at it stored is replaced. */
  readonly step: number;
  readonly name: string;
  /** The step of the best evaluation, this one included: it keeps all of its episodes. */
  readonly best: number | undefined;
  /** The step of the best evaluation before this one. */
  readonly earlierBest: number | undefined;
  /** Episodes that any other evaluation keeps. */
  readonly retained: number;
}

/** Keys of groups of held-out episodes that need no longer be stored. */
export async function outdatedGroups(
  store: Pick<RunReader, "trajectories">,
  { step, name, best, earlierBest, retained }: Outdated,
): Promise<number[]> {
  const again = (await heldOutOf(store, step)).filter(({ rollout }) => rollout.startsWith(`${name}/`));
  // all others were cut down when they ceased to be the latest and the best
  const former = [await latestBefore(store, step), earlierBest].filter((of) => of !== step && of !== best);
  const groups = new Set(again.map(({ group }) => group));
  for (const of of new Set(former)) {
    if (of === undefined) continue;
    const rollouts = new Set<string>();
    for (const { group, rollout } of await heldOutOf(store, of)) {
      rollouts.add(rollout);
      if (rollouts.size > retained) groups.add(group);
    }
  }
  return [...groups];
}

async function latestBefore(store: Pick<RunReader, "trajectories">, step: number): Promise<number | undefined> {
  if (step === 0) return undefined;
  const page = await store.trajectories({ split: heldOutSplit, steps: { to: step - 1 } }, { limit: 1 });
  return page.trajectories[0]?.step;
}

async function heldOutOf(store: Pick<RunReader, "trajectories">, step: number): Promise<TrajectorySummary[]> {
  const filter = { split: heldOutSplit, steps: { from: step, to: step } };
  const found: TrajectorySummary[] = [];
  let after: { after?: number } = {};
  for (;;) {
    const page = await store.trajectories(filter, { order: "oldest", limit: 1000, ...after });
    found.push(...page.trajectories);
    if (page.next === undefined) return found;
    after = { after: page.next };
  }
}
