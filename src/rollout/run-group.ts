import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { createLimiter, type Limiter } from "../limiter.ts";
import { isInfrastructureStop } from "../schema/stop-reason.ts";
import type { Task } from "../schema/task.ts";
import { makeTrajectoryGroup, type TrajectoryGroup } from "../schema/trajectory-group.ts";
import { seedOf } from "../task/seeds.ts";
import { knownLimits } from "./limits.ts";
import type { PlayedRollout, Policy, Rollout, RolloutOptions } from "./rollout.ts";
import { policyAt } from "./task-weights.ts";
import type { World } from "./world.ts";

export interface GroupOptions extends Omit<RolloutOptions, "id" | "seed"> {
  /** Names the group; rollouts are `<id>/0`, `<id>/1`, … */
  id: string;
  seed: number;
  size: number;
  /** How often an attempt that ended in an infrastructure failure is made again. */
  retries: number;
  /** Attempts under way at once; or a limiter that several groups share. */
  concurrency: number | Limiter;
  /** The reward stage: scores an attempt as soon as it was played. */
  score: <Data>(played: PlayedRollout<Data>) => Promise<Rollout<Data>>;
  /** Called as each attempt ends, infrastructure failures included. */
  onRollout?: (rollout: Rollout) => void;
}

const knownGroupOptions: KnownOptions<GroupOptions> = {
  training: true,
  id: true,
  seed: true,
  size: true,
  retries: true,
  concurrency: true,
  score: true,
  onRollout: true,
  signal: true,
  temperature: true,
  topP: true,
  topK: true,
  limits: true,
  format: true,
  sandbox: true,
  context: true,
  epsilonTool: true,
};

/** Attempts under way at once where nobody says otherwise: some hundred megabytes of messages and tokens at most. */
export const defaultConcurrency = 2048;

const defaults = {
  size: 8,
  retries: 1,
  concurrency: defaultConcurrency,
  score: <Data>(played: PlayedRollout<Data>) => played.score(),
};

export interface RolloutGroup<Data = unknown> extends TrajectoryGroup<Data> {
  readonly rollouts: readonly Rollout<Data>[];
  /** Sampled by weights that are gone, whatever its versions say. */
  readonly isOffPolicy?: boolean;
}

/** Attempts at one task: the same episode seed for each, another sampling seed. */
export async function runGroup<Data>(
  world: World<Data>,
  task: Task<Data>,
  policy: Policy,
  options: Partial<GroupOptions> & Pick<GroupOptions, "id" | "seed">,
): Promise<RolloutGroup<Data>> {
  refuseUnknownOptions("runGroup", options, knownGroupOptions);
  refuseUnknownOptions("limits of runGroup", options.limits, knownLimits);
  const { size, retries, concurrency, score, onRollout, ...rest } = { ...defaults, ...options };
  if (!Number.isInteger(size) || size < 1) {
    throw new LudusError("bad-group-size", { got: `${size}`, expected: "a whole number of at least 1" });
  }
  const speaking = policyAt(task, policy);
  const attempt = async (index: number): Promise<Rollout<Data>> => {
    for (let again = 0; ; again++) {
      // a repeated attempt samples anew: the very same words could meet the very same fault
      const seed = seedOf(rest.seed, `${rest.id}/${index}`, again);
      const id = again === 0 ? `${rest.id}/${index}` : `${rest.id}/${index}~${again}`;
      const rollout = await score(await world.attempt(task, speaking, { ...rest, id, seed }));
      onRollout?.(rollout);
      if (!isInfrastructureStop(rollout.stop) || again >= retries || rest.signal?.aborted) return rollout;
    }
  };
  const limit = typeof concurrency === "number" ? createLimiter(concurrency) : concurrency;
  const rollouts = await Promise.all(Array.from({ length: size }, (_, index) => limit(() => attempt(index))));
  const trajectories = rollouts.flatMap((rollout) => rollout.trajectories);
  return { ...makeTrajectoryGroup(task, trajectories), rollouts };
}
