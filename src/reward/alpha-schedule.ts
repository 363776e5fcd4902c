import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { makeScore } from "../schema/score.ts";
import { alphaAt } from "../scorer/progressive.ts";
import { factsOf, makeReward, rangeOf } from "./make-reward.ts";
import type { Reward, RewardRange, ScoredEpisode } from "./reward.ts";

export interface AlphaScheduleOptions<Data, State> {
  outcome: Reward<Data, State>;
  /** What each step is worth. Not the turns' own rewards: environments add those themselves. */
  steps: (episode: ScoredEpisode<Data, State>) => readonly number[];
  stepRange?: RewardRange;
  /** How much of training is over, in [0, 1]; by default what `train` tells, and 1 outside of training. */
  progress?: (episode: ScoredEpisode<Data, State>) => number;
}

const knownAlphaScheduleOptions: KnownOptions<AlphaScheduleOptions<unknown, unknown>> = {
  outcome: true,
  steps: true,
  stepRange: true,
  progress: true,
};

/**
 * α · outcome + (1 − α) · mean of the steps, with α 0.3, 0.7 and 1 in the three thirds of training. From no paper; `staged` is
 * the published idea. `train` tells each episode its progress; an evaluation counts the outcome alone.
 */
export function alphaSchedule<Data, State = unknown>(options: AlphaScheduleOptions<Data, State>): Reward<Data, State> {
  refuseUnknownOptions("alphaSchedule", options, knownAlphaScheduleOptions);
  const { outcome, steps, stepRange = [0, 1], progress = ({ training }) => training?.progress ?? 1 } = options;
  const [low, high] = rangeOf(outcome);
  return makeReward(
    async (episode) => {
      const alpha = alphaAt(progress(episode));
      const { total, success } = await outcome(episode);
      const values = steps(episode);
      const mean = values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
      return makeScore({ outcome: alpha * total, steps: (1 - alpha) * mean }, success);
    },
    { range: [Math.min(low, stepRange[0]), Math.max(high, stepRange[1])], ...factsOf(outcome) },
  );
}
