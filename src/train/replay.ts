import type { Engine } from "../engine/engine.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import type { Rng } from "../random.ts";
import { makeTrajectory, type Trajectory } from "../schema/trajectory.ts";
import { learnable, type TrajectoryGroup } from "../schema/trajectory-group.ts";
import { temperatureOf } from "./learn-row.ts";
import { type ReplayBuffer, successBuffer } from "./replay-buffer.ts";
import { forwardRows } from "./row-forward.ts";
import type { ChosenGroup } from "./stages/measure.ts";

/** What a trainer mixes into its batches besides what was just rolled out. */
export interface Replay {
  /** The groups of a step. */
  observe(groups: readonly TrajectoryGroup[]): void;
  /** Groups to learn from beside the `fresh` ones. */
  draw(context: ReplayContext): Promise<readonly ChosenGroup[]>;
  state(): unknown;
  /** `load` finds the stored group of a rollout, unless the rollout could not be stored. */
  restore(state: unknown, load: (rollout: string) => Promise<TrajectoryGroup | undefined>): Promise<void>;
}

export interface ReplayContext {
  readonly engine: Engine;
  readonly fresh: readonly ChosenGroup[];
  readonly rng: Rng;
}

export interface ReplayOptions {
  buffer: ReplayBuffer<TrajectoryGroup>;
  /** Groups that are mixed in, for each fresh one. */
  share: number;
}

const knownReplayOptions: KnownOptions<ReplayOptions> = { buffer: true, share: true };

/** Whole groups from a buffer. Their tokens are older than the policy: give the algorithm `corrections`. */
export function replayGroups(options: ReplayOptions): Replay {
  refuseUnknownOptions("replayGroups", options, knownReplayOptions);
  const { buffer, share } = options;
  return {
    observe(groups) {
      for (const group of groups) add(buffer, group);
    },
    draw: async ({ fresh, rng }) =>
      buffer.draw(Math.round(share * fresh.length), rng).map(({ item, weight }) => ({ group: item, scale: weight })),
    state: () => buffer.state(),
    restore: (state, load) => buffer.restore(state, load),
  };
}

export interface SuccessReplayOptions {
  capacity: number;
  /** A turn is learned from when the geometric mean of its tokens' probabilities is above the one and at most the other. */
  window: { readonly above: number; readonly upTo: number };
  /** Turns that are mixed in, at most, for each fresh one. */
  share: number;
}

const knownSuccessReplayOptions: KnownOptions<SuccessReplayOptions> = { capacity: true, window: true, share: true };

const successDefaults: SuccessReplayOptions = { capacity: 1000, window: { above: 0.5, upTo: 0.95 }, share: 2 };

/**
 * WebRL's: one success of each task, and of it the turns that the policy neither does anyway nor finds strange. Credit that
 * compares a group gives a success that is alone nothing: use it with a loss of successes, such as `rejectionTuning`'s.
 */
export function replaySuccesses(options: Partial<SuccessReplayOptions> = {}): Replay {
  refuseUnknownOptions("replaySuccesses", options, knownSuccessReplayOptions);
  const { capacity, window, share } = { ...successDefaults, ...options };
  const buffer = successBuffer<TrajectoryGroup>({
    capacity,
    isSuccess: ({ trajectories }) => trajectories.length > 0,
    taskOf: ({ task }) => task.id,
  });
  return {
    observe(groups) {
      for (const group of groups) add(buffer, firstSuccess(group));
    },
    async draw({ engine, fresh, rng }) {
      const most = Math.floor(share * fresh.reduce((sum, { group }) => sum + turnsOf(group), 0));
      const drawn = buffer.draw(buffer.size, rng).map(({ item }) => item);
      return (await withinWindow(engine, drawn, window, most)).map((group) => ({ group, scale: 1 }));
    },
    state: () => buffer.state(),
    restore: (state, load) =>
      buffer.restore(state, async (rollout) => {
        const group = await load(rollout);
        return group && firstSuccess(group);
      }),
  };
}

function add(buffer: ReplayBuffer<TrajectoryGroup>, group: TrajectoryGroup): void {
  const first = learnable(group)[0];
  if (first !== undefined) buffer.add(first.rollout, { task: group.task, trajectories: group.trajectories });
}

/** A group of the first rollout that succeeded; empty where none did. */
function firstSuccess(group: TrajectoryGroup): TrajectoryGroup {
  const sound = learnable(group);
  const rollout = sound.find(({ score }) => score.success)?.rollout;
  return { task: group.task, trajectories: sound.filter((trajectory) => trajectory.rollout === rollout) };
}

function turnsOf(group: TrajectoryGroup): number {
  return learnable(group).reduce((sum, { turns }) => sum + turns.length, 0);
}

async function withinWindow(
  engine: Engine,
  groups: readonly TrajectoryGroup[],
  window: SuccessReplayOptions["window"],
  most: number,
): Promise<TrajectoryGroup[]> {
  let left = most;
  const chosen: TrajectoryGroup[] = [];
  for (let first = 0; first < groups.length && left > 0; first += groupsAtOnce) {
    const part = groups.slice(first, first + groupsAtOnce);
    const logprobs = await currentLogprobs(engine, part);
    for (const { task, trajectories } of part) {
      const kept = trajectories.flatMap((trajectory) => {
        const turns = turnsWithin(trajectory, logprobs.get(trajectory)!, window).slice(0, left);
        left -= turns.length;
        return turns.length === 0 ? [] : [onlyTurns(trajectory, turns)];
      });
      if (kept.length > 0) chosen.push({ task, trajectories: kept });
    }
  }
  return chosen;
}

const groupsAtOnce = 32;

async function currentLogprobs(engine: Engine, groups: readonly TrajectoryGroup[]) {
  const logprobs = new Map<Trajectory, Float32Array>();
  const all = groups.flatMap(({ trajectories }) => trajectories);
  for (const [weights, members] of Map.groupBy(all, (trajectory) => trajectory.weights)) {
    const rows = members.map((trajectory) => ({
      tokens_T: trajectory.tokens_T,
      mask_T: trajectory.mask_T,
      oldLogprobs_T: trajectory.logprobs_T,
      temperature: temperatureOf(trajectory),
    }));
    const { logprobs_B_T } = await forwardRows(engine, rows, { weights });
    for (const [b, trajectory] of members.entries()) logprobs.set(trajectory, logprobs_B_T[b]);
  }
  return logprobs;
}

/** Indices of the turns whose tokens' probabilities have a geometric mean in the window. */
export function turnsWithin(
  { turns, mask_T }: Pick<Trajectory, "turns" | "mask_T">,
  logprobs_T: Float32Array,
  { above, upTo }: SuccessReplayOptions["window"],
): number[] {
  return turns.flatMap(({ span }, index) => {
    let [sum, count] = [0, 0];
    for (let t = span.start; t < span.end; t++) {
      if (mask_T[t] === 0) continue;
      sum += logprobs_T[t];
      count++;
    }
    const probability = Math.exp(sum / count);
    return count > 0 && probability > above && probability <= upTo ? [index] : [];
  });
}

/** The same trajectory with nothing to learn from in its other turns. */
function onlyTurns(trajectory: Trajectory, kept: readonly number[]): Trajectory {
  const mask_T = new Uint8Array(trajectory.mask_T.length);
  for (const index of kept) {
    const { start, end } = trajectory.turns[index].span;
    mask_T.set(trajectory.mask_T.subarray(start, end), start);
  }
  return makeTrajectory({
    ...trajectory,
    mask_T,
    logprobs_T: trajectory.logprobs_T.map((logprob, t) => (mask_T[t] === 0 ? 0 : logprob)),
    versions_T: trajectory.versions_T.map((version, t) => (mask_T[t] === 0 ? -1 : version)),
  });
}
