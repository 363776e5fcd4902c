import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import type { Trajectory } from "../schema/trajectory.ts";
import { learnable, type TrajectoryGroup } from "../schema/trajectory-group.ts";

/** Two ways to do the same, the first better than the second. Trajectories of one rollout belong together. */
export interface PreferencePair {
  readonly chosen: readonly PairSide[];
  readonly rejected: readonly PairSide[];
  /** How much better. */
  readonly gap: number;
}

export interface PairSide {
  readonly trajectory: Trajectory;
  /** The turn that is compared, by its index; all of them where absent. */
  readonly turn?: number;
}

export interface PairOptions {
  /** What one side must be better by: pairs of equals teach nothing. */
  minGap: number;
  /** Of each group: its best against its worst, or each that is better against each that is worse. */
  choose: "extremes" | "all";
  /** What an attempt is worth; its reward by default. */
  worthOf: (trajectory: Trajectory) => number;
}

const knownPairOptions: KnownOptions<PairOptions> = { minGap: true, choose: true, worthOf: true };

const defaults: PairOptions = { minGap: 1e-6, choose: "extremes", worthOf: ({ score }) => score.total };

/** Whole attempts at one task, compared by their rewards. Roles are compared apart. */
export function trajectoryPairs(group: TrajectoryGroup, options: Partial<PairOptions> = {}): PreferencePair[] {
  refuseUnknownOptions("trajectoryPairs", options, knownPairOptions);
  const chosen = { ...defaults, ...options };
  return perRole(group).flatMap((trajectories) => {
    const rollouts = [...Map.groupBy(trajectories, ({ rollout }) => rollout).values()];
    const attempts = rollouts.map((rows) => ({
      value: chosen.worthOf(rows[0]),
      sides: rows.map((trajectory): PairSide => ({ trajectory })),
    }));
    return pairsOf(attempts, chosen);
  });
}

/** Attempts that succeeded against attempts that failed. */
export function successPairs(group: TrajectoryGroup, options: Partial<Pick<PairOptions, "choose">> = {}) {
  refuseUnknownOptions("successPairs", options, { choose: true });
  return trajectoryPairs(group, { ...options, minGap: 1, worthOf: ({ score }) => (score.success ? 1 : 0) });
}

export interface StepPairOptions extends PairOptions {
  /** Turns are compared when they read the very same tokens, or when they began in a state of the same name. */
  same: "prefix" | "state";
}

const knownStepPairOptions: KnownOptions<StepPairOptions> = { same: true, minGap: true, choose: true, worthOf: true };

/**
 * Single turns, compared where attempts parted: different things said at the same point, each worth the mean reward of the
 * attempts that said it (Agent Q's pairs, with rollouts in place of a tree).
 */
export function stepPairs(group: TrajectoryGroup, options: Partial<StepPairOptions> = {}): PreferencePair[] {
  refuseUnknownOptions("stepPairs", options, knownStepPairOptions);
  const { same, ...rest } = { ...defaults, same: "prefix" as const, ...options };
  return perRole(group).flatMap((trajectories) => {
    const turns = trajectories.flatMap((trajectory) =>
      trajectory.turns.flatMap(({ span, stateKey }, turn) => {
        const point = same === "state" ? stateKey : trajectory.tokens_T.subarray(0, span.start).join();
        const said = trajectory.tokens_T.subarray(span.start, span.end).join();
        return point === undefined || span.end === span.start ? [] : [{ trajectory, turn, point, said }];
      }),
    );
    return [...Map.groupBy(turns, ({ point }) => point).values()].flatMap((here) => {
      const actions = [...Map.groupBy(here, ({ said }) => said).values()].map((members) => ({
        value: members.reduce((sum, { trajectory }) => sum + rest.worthOf(trajectory), 0) / members.length,
        sides: [{ trajectory: members[0].trajectory, turn: members[0].turn }],
      }));
      return pairsOf(actions, rest);
    });
  });
}

function perRole(group: TrajectoryGroup): Trajectory[][] {
  return [...Map.groupBy(learnable(group), ({ role }) => role).values()];
}

interface Candidate {
  readonly value: number;
  readonly sides: readonly PairSide[];
}

function pairsOf(candidates: readonly Candidate[], { minGap, choose }: PairOptions): PreferencePair[] {
  const pairs = candidates.flatMap((better) =>
    candidates.flatMap((worse): PreferencePair[] => {
      const gap = better.value - worse.value;
      return gap > 0 && gap >= minGap ? [{ chosen: better.sides, rejected: worse.sides, gap }] : [];
    }),
  );
  if (choose === "all" || pairs.length === 0) return pairs;
  return [pairs.reduce((widest, pair) => (pair.gap > widest.gap ? pair : widest))];
}
