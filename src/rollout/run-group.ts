import type { Env } from "../env/env.ts";
import { LudusError } from "../errors.ts";
import { isInfrastructureStop } from "../schema/stop-reason.ts";
import type { Task } from "../schema/task.ts";
import { makeTrajectoryGroup, type TrajectoryGroup } from "../schema/trajectory-group.ts";
import { seedOf } from "../task/seeds.ts";
import { mapWithLimit } from "./map-with-limit.ts";
import type { Policy, Rollout, RolloutOptions } from "./rollout.ts";
import { runRollout } from "./run-rollout.ts";

export interface GroupOptions extends Omit<RolloutOptions, "id" | "seed"> {
  /** Names the group; rollouts are `<id>/0`, `<id>/1`, … */
  id: string;
  seed: number;
  size: number;
  /** How often an attempt that the infrastructure spoiled is made again. */
  retries: number;
  /** At most this many at once. */
  concurrency: number;
  /** Called as each attempt ends, spoiled ones included. */
  onRollout?: (rollout: Rollout) => void;
}

const defaults = { size: 8, retries: 1, concurrency: 10_000 };

export interface RolloutGroup<Data = unknown> extends TrajectoryGroup<Data> {
  readonly rollouts: readonly Rollout<Data>[];
}

/** Attempts at one task: the same world for each, chance of the policy's own apart. */
export async function runGroup<Data, State>(
  env: Env<Data, State>,
  task: Task<Data>,
  policy: Policy,
  options: Partial<GroupOptions> & Pick<GroupOptions, "id" | "seed">,
): Promise<RolloutGroup<Data>> {
  const { size, retries, concurrency, onRollout, ...rest } = { ...defaults, ...options };
  if (!Number.isInteger(size) || size < 1) {
    throw new LudusError("bad-group-size", { got: `${size}`, expected: "a whole number of at least 1" });
  }
  const attempt = async (index: number): Promise<Rollout<Data>> => {
    for (let again = 0; ; again++) {
      // a repeated attempt samples anew: the very same words could meet the very same fault
      const seed = seedOf(rest.seed, `${rest.id}/${index}`, again);
      const id = again === 0 ? `${rest.id}/${index}` : `${rest.id}/${index}~${again}`;
      const rollout = await runRollout(env, task, policy, { ...rest, id, seed });
      onRollout?.(rollout);
      if (!isInfrastructureStop(rollout.stop) || again >= retries || rest.signal?.aborted) return rollout;
    }
  };
  const rollouts = await mapWithLimit(Array.from({ length: size }), concurrency, (_, index) => attempt(index));
  const trajectories = rollouts.flatMap((rollout) => rollout.trajectories);
  return { ...makeTrajectoryGroup(task, trajectories), rollouts };
}
