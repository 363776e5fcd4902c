import { refuseUnknownOptions } from "../known-options.ts";
import { makeScore } from "../schema/score.ts";
import { tokenF1 } from "../scorer/normalize-answer.ts";
import { type GoldOf, knownTextOptions, type TextOptions } from "./episode-text.ts";
import { makeReward } from "./make-reward.ts";
import type { Reward } from "./reward.ts";

/** The best F1 over the words of the answer and of a gold one. Solved is an F1 of 1. */
export function f1<Data, State = unknown>(
  gold: GoldOf<Data>,
  options: Partial<TextOptions<Data, State>> = {},
): Reward<Data, State> {
  refuseUnknownOptions("f1", options, knownTextOptions);
  const { text = ({ answer }) => answer } = options;
  return makeReward((episode) => makeScore({ outcome: tokenF1(text(episode), gold(episode.task)) }), { range: [0, 1] });
}
