import { refuseUnknownOptions } from "../known-options.ts";
import { makeScore } from "../schema/score.ts";
import { type SweRlTask, sweRlScore } from "../scorer/swe-rl.ts";
import { knownTextOptions, lastText, type TextOptions } from "./episode-text.ts";
import { makeReward } from "./make-reward.ts";
import type { Reward } from "./reward.ts";

/**
 * SWE-RL (arXiv 2502.18449) of the last turn: −1 for a broken format, else how near the patch is to the gold one. Solved is
 * the same patch. On small files a wrong fix scores almost as high: prefer tests where there are some.
 */
export function sweRl<Data, State = unknown>(
  change: (task: Data) => SweRlTask,
  options: Partial<TextOptions<Data, State>> = {},
): Reward<Data, State> {
  refuseUnknownOptions("sweRl", options, knownTextOptions);
  const { text = lastText } = options;
  return makeReward((episode) => makeScore({ outcome: sweRlScore(text(episode), change(episode.task)).reward }), {
    range: [-1, 1],
  });
}
