import { makeReward, rangeOf, warningsOf } from "./make-reward.ts";
import type { Reward } from "./reward.ts";

/** The reward times a weight, part by part; a negative weight makes it a cost. Whether the task is solved stays. */
export function weighted<Data, State = unknown>(weight: number, reward: Reward<Data, State>): Reward<Data, State> {
  // + 0 makes 0 of -0
  const scaled = (value: number) => weight * value + 0;
  const [low, high] = rangeOf(reward);
  return makeReward(
    async (episode) => {
      const { total, parts, success } = await reward(episode);
      const scaledParts = Object.entries(parts).map(([name, part]) => [name, scaled(part)] as const);
      return { total: scaled(total), parts: Object.fromEntries(scaledParts), success };
    },
    {
      range: [Math.min(scaled(low), scaled(high)), Math.max(scaled(low), scaled(high))],
      warnings: warningsOf(reward),
    },
  );
}
