import { defined } from "../../defined.ts";
import { errorStack, LudusError } from "../../errors.ts";
import type { GroupReward, GroupScore } from "../../reward/group-reward.ts";
import type { PlayedRollout, Rollout } from "../../rollout/rollout.ts";
import type { RolloutGroup } from "../../rollout/run-group.ts";
import { metric } from "../../schema/metric-names.ts";
import type { Score } from "../../schema/score.ts";
import { isInfrastructureStop } from "../../schema/stop-reason.ts";
import { makeTrajectory } from "../../schema/trajectory.ts";
import { makeTrajectoryGroup } from "../../schema/trajectory-group.ts";
import type { Metrics, StepContext } from "./stage-context.ts";

/** Scores attempts as they end, while others are still being sampled, and measures how long that takes. */
export interface RewardStage<Data = unknown> {
  score<Played>(played: PlayedRollout<Played>): Promise<Rollout<Played>>;
  /** Adds what a comparison of the group's attempts gives; the group as it is where the run has no `groupReward`. */
  scoreGroup(id: string, group: RolloutGroup<Data>): Promise<RolloutGroup<Data>>;
  /** Seconds of scoring, of all attempts together; several may be scored at once. */
  readonly metrics: Metrics;
}

/** The reward stage of one step. A scorer that throws or takes too long is the rollout's stop reason. */
export function rewardStage<Data>({
  groupReward,
  signal,
}: Pick<StepContext<Data>, "groupReward" | "signal"> = {}): RewardStage<Data> {
  let milliseconds = 0;
  const timed = async <Value>(work: () => Promise<Value>): Promise<Value> => {
    const started = performance.now();
    const value = await work();
    milliseconds += performance.now() - started;
    return value;
  };
  return {
    score: (played) => timed(() => played.score()),
    async scoreGroup(id, group) {
      if (groupReward === undefined) return group;
      return timed(() => compare(groupReward, id, group, signal ?? new AbortController().signal));
    },
    get metrics() {
      return { [metric.seconds("reward")]: milliseconds / 1000 };
    },
  };
}

async function compare<Data>(
  groupReward: GroupReward<Data>,
  id: string,
  group: RolloutGroup<Data>,
  signal: AbortSignal,
): Promise<RolloutGroup<Data>> {
  const compared = group.rollouts.filter(({ stop }) => !isInfrastructureStop(stop));
  // nothing to compare with
  if (compared.length < 2) return group;
  const rescored = await rescore(groupReward, id, compared, signal);
  const rollouts = group.rollouts.map((rollout) => rescored.get(rollout) ?? rollout);
  const trajectories = rollouts.flatMap((rollout) => rollout.trajectories);
  return { ...makeTrajectoryGroup(group.task, trajectories), rollouts };
}

async function rescore<Data>(
  groupReward: GroupReward<Data>,
  id: string,
  rollouts: readonly Rollout<Data>[],
  signal: AbortSignal,
): Promise<Map<Rollout<Data>, Rollout<Data>>> {
  const attempts = rollouts.map(({ trajectories, stop }) => {
    return { turns: trajectories.flatMap(({ turns }) => turns), stop, score: trajectories[0].score };
  });
  try {
    const scores = await groupReward({ id, task: rollouts[0].task.data, attempts, signal });
    checkScores(scores, attempts.length);
    return new Map(rollouts.map((rollout, index) => [rollout, withScore(rollout, scores[index])]));
  } catch (error) {
    const failure = `the group reward failed: ${errorStack(error)}`;
    const stop = signal.aborted ? "cancelled" : "env-crash";
    return new Map(rollouts.map((rollout) => [rollout, { ...changed(rollout, { stop, failure }), stop, failure }]));
  }
}

function checkScores(scores: readonly GroupScore[], count: number): void {
  const isSound = ({ parts }: GroupScore) => Object.values(parts).every(Number.isFinite);
  if (Array.isArray(scores) && scores.length === count && scores.every(isSound)) return;
  throw new LudusError("bad-group-reward", {
    got: JSON.stringify(scores)?.slice(0, 300) ?? "nothing",
    expected: `${count} scores of finite parts, one for each attempt`,
  });
}

function withScore<Data>(rollout: Rollout<Data>, { parts, success }: GroupScore): Rollout<Data> {
  const more = Object.values(parts).reduce((sum, part) => sum + part, 0);
  const added = (score: Score): Score => ({
    ...score,
    total: score.total + more,
    parts: { ...score.parts, ...parts },
    ...defined({ success }),
  });
  const trajectories = rollout.trajectories.map((trajectory) =>
    makeTrajectory({ ...trajectory, score: added(trajectory.score) }),
  );
  return { ...rollout, trajectories };
}

function changed<Data>(
  rollout: Rollout<Data>,
  fields: { stop: "cancelled" | "env-crash"; failure: string },
): Rollout<Data> {
  return { ...rollout, trajectories: rollout.trajectories.map((each) => makeTrajectory({ ...each, ...fields })) };
}
