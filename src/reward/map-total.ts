import { makeReward, warningsOf } from "./make-reward.ts";
import type { Reward, RewardRange } from "./reward.ts";

/** Another total, such as a clipped one. Parts stay, and the difference is the part `adjustment`. */
export function mapTotal<Data, State = unknown>(
  reward: Reward<Data, State>,
  map: (total: number) => number,
  range: RewardRange,
): Reward<Data, State> {
  return makeReward(
    async (episode) => {
      const { total, parts, success } = await reward(episode);
      const mapped = map(total);
      return { total: mapped, parts: { ...parts, adjustment: (parts.adjustment ?? 0) + mapped - total }, success };
    },
    { range, warnings: warningsOf(reward) },
  );
}
