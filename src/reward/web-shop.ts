import { makeScore } from "../schema/score.ts";
import { type ShopGoal, type ShopPurchase, webShopScore } from "../scorer/web-shop.ts";
import { makeReward } from "./make-reward.ts";
import type { Reward, ScoredEpisode } from "./reward.ts";

export interface WebShopOptions<Data, State> {
  /** What was bought; undefined for nothing, which is 0. */
  purchase: (episode: ScoredEpisode<Data, State>) => ShopPurchase | undefined;
  goal: (task: Data) => ShopGoal;
}

/**
 * WebShop: how far the purchase is what was wanted, in [0, 1]. The released code counts options that nobody asked for, so that
 * they can make up for what is missing and more: here the total ends at 1, and solved is only what meets everything.
 */
export function webShop<Data, State = unknown>({ purchase, goal }: WebShopOptions<Data, State>): Reward<Data, State> {
  return makeReward(
    (episode) => {
      const bought = purchase(episode);
      if (bought === undefined) return makeScore({ outcome: 0 });
      const wanted = goal(episode.task);
      const { reward, type, attributeMatches, optionMatches, isPriceRight } = webShopScore(bought, wanted);
      const isMet = attributeMatches === wanted.attributes.length && optionMatches >= wanted.options.length;
      return makeScore({ outcome: Math.min(1, reward) }, type === 1 && isPriceRight && isMet);
    },
    { range: [0, 1] },
  );
}
