import { makeScore, type Score } from "../schema/score.ts";
import { allWarnings, makeReward, rangeOf } from "./make-reward.ts";
import type { Reward } from "./reward.ts";

/**
 * The first reward, and the second on top of it where the first passes: by default where it says the task is solved. Parts
 * `gate` and `outcome`. The second is not asked otherwise.
 */
export function gated<Data, State = unknown>(
  gate: Reward<Data, State>,
  reward: Reward<Data, State>,
  passes: (score: Score) => boolean = ({ success }) => success,
): Reward<Data, State> {
  const [gateLow, gateHigh] = rangeOf(gate);
  const [low, high] = rangeOf(reward);
  return makeReward(
    async (episode) => {
      const first = await gate(episode);
      if (!passes(first)) return makeScore({ gate: first.total, outcome: 0 }, false);
      const second = await reward(episode);
      return makeScore({ gate: first.total, outcome: second.total }, second.success);
    },
    {
      range: [gateLow + Math.min(0, low), gateHigh + Math.max(0, high)],
      warnings: allWarnings([gate, reward]),
    },
  );
}
