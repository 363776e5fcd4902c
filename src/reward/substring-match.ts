import { refuseUnknownOptions } from "../known-options.ts";
import { makeScore } from "../schema/score.ts";
import { substringMatchScore } from "../scorer/normalize-answer.ts";
import { type GoldOf, knownTextOptions, type TextOptions } from "./episode-text.ts";
import { makeReward } from "./make-reward.ts";
import type { Reward } from "./reward.ts";

/** 1 where the answer holds a gold one, both in SQuAD's normal form, else 0. A policy can win by listing many answers. */
export function substringMatch<Data, State = unknown>(
  gold: GoldOf<Data>,
  options: Partial<TextOptions<Data, State>> = {},
): Reward<Data, State> {
  refuseUnknownOptions("substringMatch", options, knownTextOptions);
  const { text = ({ answer }) => answer } = options;
  return makeReward((episode) => makeScore({ outcome: substringMatchScore(text(episode), gold(episode.task)) }), {
    range: [0, 1],
  });
}
