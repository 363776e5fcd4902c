import { makeScore } from "../schema/score.ts";
import { mathScore } from "../scorer/math-answer.ts";
import { lastText, type TextOptions } from "./episode-text.ts";
import { makeReward } from "./make-reward.ts";
import type { Reward } from "./reward.ts";

/** 1 where the last `\boxed{}` of the last turn holds the gold answer in some spelling of it, else 0. */
export function math<Data, State = unknown>(
  gold: (task: Data) => string,
  { text = lastText }: Partial<TextOptions<Data, State>> = {},
): Reward<Data, State> {
  return makeReward((episode) => makeScore({ outcome: mathScore(text(episode), gold(episode.task)) }), {
    range: [0, 1],
  });
}
