import { createRng } from "../../random.ts";
import { runRollout } from "../../rollout/run-rollout.ts";
import type { World } from "../../rollout/world.ts";
import { isInfrastructureStop } from "../../schema/stop-reason.ts";
import { seedOf } from "../../task/seeds.ts";
import type { Gathered } from "./gather.ts";
import type { ChosenGroup } from "./measure.ts";
import { RolloutCosts } from "./rollout-metrics.ts";
import type { Metrics, StepContext } from "./stage-context.ts";

export interface Completed {
  readonly groups: readonly ChosenGroup[];
  /** What greedy attempts cost, where there are any. */
  readonly metrics: Metrics;
}

/** All that a step learns from: selected groups, what the guide added and replay, with greedy baselines where credit needs them. */
export async function complete<Data>(
  context: StepContext<Data>,
  { selection, extra }: Pick<Gathered<Data>, "selection" | "extra">,
): Promise<Completed> {
  const { algorithm, replay, policy, seed, step, roles } = context;
  const added = extra.flatMap((group) => roles.map((role) => ({ group, role, scale: 1, isOffPolicy: true })));
  const fresh = [...selection.groups, ...added];
  const rng = createRng(seedOf(seed, "replay", step));
  const replayed = (await replay?.draw({ engine: policy.engine, fresh, rng })) ?? [];
  const groups = [...fresh, ...replayed];
  return algorithm.credit.needs.greedyBaseline ? withBaselines(context, groups) : { groups, metrics: {} };
}

/**
 * For each group, replayed ones included, what a greedy attempt at its task earns now, by role (ReMax, CodeRL). Groups whose greedy
 * attempt ended in an infrastructure failure are left out: there is nothing to compare them with.
 */
async function withBaselines<Data>(
  { world, policy, rollout, step, learningStep, progress, limit, failures }: StepContext<Data>,
  chosen: readonly ChosenGroup[],
): Promise<Completed> {
  const costs = new RolloutCosts();
  const anyWorld: World = world;
  const groups = [...new Set(chosen.map(({ group }) => group))];
  const attempts = groups.map((group, i) =>
    limit(async () => {
      const training = { step: learningStep, progress };
      const options = { ...rollout, id: `step-${step}/greedy/${i}`, seed: 0, temperature: 0, training };
      const finished = await runRollout(anyWorld, group.task, policy, options);
      failures.add(finished);
      const { stop, trajectories } = finished;
      const rewards = Object.fromEntries(trajectories.map(({ role, score }) => [role, score.total]));
      costs.add({ trajectories });
      return { group, rewards, isSound: !isInfrastructureStop(stop) };
    }),
  );
  const made = await Promise.all(attempts);
  const sound = made.filter(({ isSound }) => isSound);
  const baselines = new Map(sound.map(({ group, rewards }) => [group, rewards]));
  return { groups: chosen.flatMap((each) => compared(each, baselines.get(each.group))), metrics: costs.metrics };
}

/** Without the roles that did not get to speak in the greedy attempt: they have nothing to be compared with either. */
function compared(each: ChosenGroup, baselines: Readonly<Record<string, number>> | undefined): ChosenGroup[] {
  if (baselines === undefined) return [];
  const isKnown = (role: string) => baselines[role] !== undefined;
  if (each.role !== undefined) return isKnown(each.role) ? [{ ...each, baselines }] : [];
  const trajectories = each.group.trajectories.filter(({ role }) => isKnown(role));
  return [{ ...each, baselines, group: { ...each.group, trajectories } }];
}
