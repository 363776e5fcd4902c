import { createRng } from "../../random.ts";
import { runRollout } from "../../rollout/run-rollout.ts";
import type { World } from "../../rollout/world.ts";
import { isInfrastructureStop } from "../../schema/stop-reason.ts";
import { seedOf } from "../../task/seeds.ts";
import type { Gathered } from "./gather.ts";
import type { ChosenGroup } from "./measure.ts";
import type { StepContext } from "./stage-context.ts";

/** All that a step learns from: selected groups, what the guide added, greedy baselines where credit needs them, and replay. */
export async function complete<Data>(
  context: StepContext<Data>,
  { selection, extra }: Pick<Gathered<Data>, "selection" | "extra">,
): Promise<readonly ChosenGroup[]> {
  const { algorithm, replay, policy, seed, step, roles } = context;
  const added = extra.flatMap((group) => roles.map((role) => ({ group, role, scale: 1, isOffPolicy: true })));
  const chosen = [...selection.groups, ...added];
  const fresh = algorithm.credit.needs.greedyBaseline ? await withBaselines(context, chosen) : chosen;
  const rng = createRng(seedOf(seed, "replay", step));
  const replayed = (await replay?.draw({ engine: policy.engine, fresh, rng })) ?? [];
  return [...fresh, ...replayed];
}

/**
 * For each group what a greedy attempt at its task earned, by role (ReMax, CodeRL). Groups whose greedy attempt ended in an
 * infrastructure failure are left out: there is nothing to compare them with.
 */
async function withBaselines<Data>(
  { world, policy, rollout, step, limit, failures }: StepContext<Data>,
  chosen: readonly ChosenGroup[],
): Promise<ChosenGroup[]> {
  const anyWorld: World = world;
  const groups = [...new Set(chosen.map(({ group }) => group))];
  const attempts = groups.map((group, i) =>
    limit(async () => {
      const options = { ...rollout, id: `step-${step}/greedy/${i}`, seed: 0, temperature: 0 };
      const finished = await runRollout(anyWorld, group.task, policy, options);
      failures.add(finished);
      const { stop, trajectories } = finished;
      const rewards = Object.fromEntries(trajectories.map(({ role, score }) => [role, score.total]));
      return { group, rewards, isSound: !isInfrastructureStop(stop) };
    }),
  );
  const sound = (await Promise.all(attempts)).filter(({ isSound }) => isSound);
  const baselines = new Map(sound.map(({ group, rewards }) => [group, rewards]));
  return chosen.flatMap((each) => {
    const known = baselines.get(each.group);
    // a role that did not get to speak in the greedy attempt has nothing to be compared with either
    return known === undefined || (each.role !== undefined && known[each.role] === undefined)
      ? []
      : [{ ...each, baselines: known }];
  });
}
