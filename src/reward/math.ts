import { refuseUnknownOptions } from "../known-options.ts";
import { makeScore } from "../schema/score.ts";
import { mathScore } from "../scorer/math-answer.ts";
import { knownTextOptions, lastText, type TextOptions } from "./episode-text.ts";
import { makeReward } from "./make-reward.ts";
import type { Reward } from "./reward.ts";

/** 1 where the last `\boxed{}` of the last turn holds the gold answer in some spelling of it, else 0. */
export function math<Data, State = unknown>(
  gold: (task: Data) => string,
  options: Partial<TextOptions<Data, State>> = {},
): Reward<Data, State> {
  refuseUnknownOptions("math", options, knownTextOptions);
  const { text = lastText } = options;
  return makeReward((episode) => makeScore({ outcome: mathScore(text(episode), gold(episode.task)) }), {
    range: [0, 1],
  });
}
