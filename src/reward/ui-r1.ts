import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { makeScore } from "../schema/score.ts";
import { type UiGold, type UiR1Options, uiR1Score } from "../scorer/ui-r1.ts";
import { lastText, type TextOptions } from "./episode-text.ts";
import { makeReward } from "./make-reward.ts";
import type { Reward } from "./reward.ts";

const knownOptions: KnownOptions<UiR1Options & TextOptions<unknown, unknown>> = { scale: true, tags: true, text: true };

/** UI-R1 (arXiv 2503.21620): 1 each for the action's type, its point and the format. Solved is the right type and point. */
export function uiR1<Data, State = unknown>(
  gold: (task: Data) => UiGold,
  options: Partial<UiR1Options & TextOptions<Data, State>> = {},
): Reward<Data, State> {
  refuseUnknownOptions("uiR1", options, knownOptions);
  const { text = lastText, ...rest } = options;
  return makeReward(
    (episode) => {
      const { type, coordinate, format } = uiR1Score(text(episode), gold(episode.task), rest);
      return makeScore({ type, coordinate, format }, type === 1 && coordinate === 1);
    },
    { range: [0, 3] },
  );
}
