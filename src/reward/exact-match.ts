import { refuseUnknownOptions } from "../known-options.ts";
import { makeScore } from "../schema/score.ts";
import { exactMatchScore, normalizeAnswer } from "../scorer/normalize-answer.ts";
import { type GoldOf, knownTextOptions, type TextOptions } from "./episode-text.ts";
import { makeReward } from "./make-reward.ts";
import type { Reward } from "./reward.ts";

/**
 * 1 where the answer is a gold one in SQuAD's normal form, else 0. Where a gold answer has an empty normal form, such as the
 * choice "A", texts are compared without normalization but for case: otherwise an empty answer would match.
 */
export function exactMatch<Data, State = unknown>(
  gold: GoldOf<Data>,
  options: Partial<TextOptions<Data, State>> = {},
): Reward<Data, State> {
  refuseUnknownOptions("exactMatch", options, knownTextOptions);
  const { text = ({ answer }) => answer } = options;
  return makeReward(
    (episode) => {
      const said = text(episode);
      const isMatch = [gold(episode.task)].flat().some((one) => matches(said, one));
      return makeScore({ outcome: isMatch ? 1 : 0 });
    },
    { range: [0, 1] },
  );
}

function matches(said: string, gold: string): boolean {
  if (normalizeAnswer(gold) !== "") return exactMatchScore(said, gold) === 1;
  return said.trim().toLowerCase() === gold.trim().toLowerCase();
}
