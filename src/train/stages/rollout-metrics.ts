import type { Rollout } from "../../rollout/rollout.ts";
import type { RolloutGroup } from "../../rollout/run-group.ts";
import { metric } from "../../schema/metric-names.ts";
import { permissionCounts } from "../../schema/permission-counts.ts";
import { isInfrastructureStop } from "../../schema/stop-reason.ts";
import type { Trajectory } from "../../schema/trajectory.ts";
import { mean, sum } from "../../statistics.ts";
import { rolloutRewards } from "./select.ts";
import type { Metrics } from "./stage-context.ts";

/** What is to be seen in a step's rollouts, whatever the algorithm. Shares and means are over sound rollouts. */
export function rolloutMetrics(groups: readonly RolloutGroup[], turnLimit: number): Record<string, number> {
  const rollouts = groups.flatMap((group) => group.rollouts);
  const sound = rollouts.filter(({ stop }) => !isInfrastructureStop(stop));
  const trajectories = sound.flatMap((rollout) => rollout.trajectories);
  const stops = Map.groupBy(rollouts, ({ stop }) => stop);
  const deviations = groups.map((group) => deviation(rolloutRewards(group.trajectories.filter(isSound))));
  return {
    [metric.reward]: weightedMean(trajectories, ({ score }) => score.total),
    [metric.success]: weightedMean(trajectories, ({ score }) => (score.success ? 1 : 0)),
    [metric.turns]: mean(sound.map(turnsOf)),
    [metric.turnShare]: mean(sound.map(turnsOf)) / turnLimit,
    [metric.tokens]: mean(sound.map((rollout) => sum(rollout.trajectories.map(({ tokens_T }) => tokens_T.length)))),
    [metric.entropy]: entropyOf(trajectories),
    [metric.rewardStd]: mean(deviations),
    ...Object.fromEntries([...stops].map(([stop, { length }]) => [metric.stop(stop), length / rollouts.length])),
    ...rewardParts(trajectories),
    ...toolMetrics(trajectories),
    ...permissionMetrics(trajectories),
  };
}

const isSound = ({ stop }: Trajectory) => !isInfrastructureStop(stop);
const sampledOf = ({ mask_T }: Trajectory) => sum(mask_T);
const turnsOf = ({ trajectories }: { trajectories: readonly Trajectory[] }) =>
  sum(trajectories.map(({ turns }) => turns.length));

function deviation(values: readonly number[]): number {
  const centre = mean(values);
  return values.length < 2 ? 0 : Math.sqrt(sum(values.map((value) => (value - centre) ** 2)) / (values.length - 1));
}

/** Trajectories of one rollout weigh one. */
function weightedMean(trajectories: readonly Trajectory[], value: (trajectory: Trajectory) => number): number {
  const total = sum(trajectories.map(({ weight }) => weight));
  return total === 0 ? 0 : sum(trajectories.map((each) => each.weight * value(each))) / total;
}

function entropyOf(trajectories: readonly Trajectory[]): number {
  const tokens = sum(trajectories.map(sampledOf));
  return tokens === 0 ? 0 : -sum(trajectories.map(({ logprobs_T }) => sum(logprobs_T))) / tokens;
}

function rewardParts(trajectories: readonly Trajectory[]): Record<string, number> {
  const names = new Set(trajectories.flatMap(({ score }) => Object.keys(score.parts)));
  return Object.fromEntries(
    [...names]
      .sort()
      .map((name) => [metric.rewardPart(name), weightedMean(trajectories, (t) => t.score.parts[name] ?? 0)]),
  );
}

function toolMetrics(trajectories: readonly Trajectory[]): Record<string, number> {
  const turns = trajectories.flatMap((trajectory) => trajectory.turns);
  const calls = turns.flatMap((turn) => turn.calls);
  const pairs = trajectories.flatMap((trajectory) =>
    trajectory.turns.slice(1).map((turn, i) => ({ turn, i, trajectory })),
  );
  const repeats = pairs.filter(({ turn, i, trajectory }) => trajectory.turns[i].text === turn.text).length;
  const share = (outcomes: readonly string[]) =>
    calls.length === 0 ? 0 : calls.filter(({ outcome }) => outcomes.includes(outcome)).length / calls.length;
  return {
    [metric.repeats]: pairs.length === 0 ? 0 : repeats / pairs.length,
    ...(calls.length === 0
      ? {}
      : {
          [metric.toolCalls]: calls.length / Math.max(1, new Set(trajectories.map(({ rollout }) => rollout)).size),
          [metric.toolUnknown]: share(["unknown-tool"]),
          [metric.toolErrors]: share(["error", "malformed", "bad-arguments", "unknown-tool"]),
        }),
  };
}

/** Per rollout; nothing where no tool is under permissions. */
function permissionMetrics(trajectories: readonly Trajectory[]): Record<string, number> {
  const { calls, asks, denials, violations } = permissionCounts(trajectories.flatMap(({ turns }) => turns));
  if (calls === 0) return {};
  const rollouts = new Set(trajectories.map(({ rollout }) => rollout)).size;
  return {
    [metric.asks]: asks / rollouts,
    [metric.denials]: denials / rollouts,
    [metric.violations]: violations / rollouts,
  };
}

/** Counts what rollouts cost, whatever comes of them. */
export class RolloutCosts {
  #rollouts = 0;
  #tokens = 0;

  add({ trajectories }: Pick<Rollout, "trajectories">): void {
    this.#rollouts++;
    this.#tokens += sum(trajectories.map(sampledOf));
  }

  get metrics(): Readonly<Record<string, number>> {
    return { [metric.rollouts]: this.#rollouts, [metric.sampledTokens]: this.#tokens };
  }
}

/** Metrics of a step with what further rollouts cost. */
export function addCosts(metrics: Metrics, costs: Metrics): Metrics {
  const sums = Object.entries(costs).map(([name, value]) => [name, (metrics[name] ?? 0) + value]);
  return { ...metrics, ...Object.fromEntries(sums) };
}

/** How fast a step was, from what it sampled and the seconds of its stages. */
export function speedMetrics(
  rolled: Readonly<Record<string, number>>,
  seconds: Readonly<Record<string, number>>,
): Readonly<Record<string, number>> {
  const total = sum(Object.values(seconds));
  const sampled = rolled[metric.sampledTokens];
  return sampled === undefined || total === 0 ? {} : { [metric.tokensPerSecond]: sampled / total };
}
