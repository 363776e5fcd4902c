import { makeScore, type Score } from "../schema/score.ts";
import { factsOf, makeReward, rangeOf } from "./make-reward.ts";
import type { Reward, RewardRange } from "./reward.ts";

/** The reward times a weight, part by part; a negative weight makes it a cost. `success` is unchanged. */
export function weighted<Data, State = unknown>(weight: number, reward: Reward<Data, State>): Reward<Data, State> {
  // + 0 turns -0 into 0
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
      ...factsOf(reward),
    },
  );
}

/** Maps the total, for example to clip it. Parts are kept; the difference is added as the part `adjustment`. */
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
    { range, ...factsOf(reward) },
  );
}

/**
 * The first reward, and the second on top of it where the first passes: by default where it says the task is solved. Parts
 * `gate` and `outcome`. Otherwise the second is not computed.
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
      ...factsOf(gate, reward),
    },
  );
}
