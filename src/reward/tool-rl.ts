import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { makeScore } from "../schema/score.ts";
import { type ToolRlOptions, type ToolRlReference, toolRlRanges, toolRlScore } from "../scorer/toolrl.ts";
import { lastText, type TextOptions } from "./episode-text.ts";
import { makeReward } from "./make-reward.ts";
import type { Reward, RewardRange, ScoredEpisode } from "./reward.ts";

export interface ToolRlRewardOptions<Data, State> extends Omit<ToolRlOptions, "step">, TextOptions<Data, State> {
  /** The training step, for what changes over training; by default the one that `train` tells, and the last outside of training. */
  step: (episode: ScoredEpisode<Data, State>) => number;
}

const knownToolRlRewardOptions: KnownOptions<ToolRlRewardOptions<unknown, unknown>> = {
  text: true,
  step: true,
  scale: true,
  granularity: true,
  length: true,
};

/** ToolRL (arXiv 2504.13958) of the last turn: format, correctness of its calls, and length where that is on. */
export function toolRl<Data, State = unknown>(
  reference: (task: Data) => ToolRlReference,
  options: Partial<ToolRlRewardOptions<Data, State>> = {},
): Reward<Data, State> {
  refuseUnknownOptions("toolRl", options, knownToolRlRewardOptions);
  const { text = lastText, step = stepOf, ...rest } = options;
  return makeReward(
    (episode) => {
      const now = { ...rest, step: step(episode) };
      const wanted = reference(episode.task);
      const { format, correctness, length } = toolRlScore(text(episode), wanted, now);
      const ranges = toolRlRanges(now);
      const isRight =
        wanted.calls.length === 0 ? format === ranges.format[1] : correctness > ranges.correctness[1] - 1e-9;
      return makeScore({ format, correctness, length }, isRight);
    },
    { range: widest(rest) },
  );
}

/** Nothing changes from here on. */
const lastStep = 150;
const stepOf = ({ training }: Pick<ScoredEpisode, "training">) => training?.step ?? lastStep;

/** Schedules start at step 0 and are flat from `lastStep` on; the range holds for all of training. */
function widest(options: Partial<ToolRlOptions>): RewardRange {
  const ranges = [0, 30, lastStep].flatMap((step) => {
    const { format, correctness, length } = toolRlRanges({ ...options, step });
    const sum = (end: 0 | 1) => format[end] + correctness[end] + length[end];
    return [sum(0), sum(1)];
  });
  return [Math.min(...ranges), Math.max(...ranges)];
}
