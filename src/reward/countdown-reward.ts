import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { makeScore } from "../schema/score.ts";
import { type Countdown, countdownScore, tinyZeroScore } from "../scorer/countdown.ts";
import { lastText } from "./episode-text.ts";
import { makeReward } from "./make-reward.ts";
import type { Reward } from "./reward.ts";

export interface CountdownRewardOptions {
  /** `tiny-zero`: 0.1 for any `<answer>` in the last turn. `ragen`: 0.1 for the right numbers in the answer itself. */
  rule: "tiny-zero" | "ragen";
}

const knownCountdownRewardOptions: KnownOptions<CountdownRewardOptions> = { rule: true };

/** Countdown: 1 for an equation of all the numbers that hits the target, 0.1 for a try, else 0. */
export function countdownReward<Data, State = unknown>(
  puzzle: (task: Data) => Countdown,
  options: Partial<CountdownRewardOptions> = {},
): Reward<Data, State> {
  refuseUnknownOptions("countdownReward", options, knownCountdownRewardOptions);
  const { rule = "tiny-zero" } = options;
  return makeReward(
    (episode) => {
      const wanted = puzzle(episode.task);
      const outcome =
        rule === "tiny-zero" ? tinyZeroScore(lastText(episode), wanted) : countdownScore(episode.answer, wanted, rule);
      return makeScore({ outcome });
    },
    { range: [0, 1] },
  );
}
