import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { makeScore } from "../schema/score.ts";
import { type ShopGoal, type ShopPurchase, webShopScore } from "../scorer/web-shop.ts";
import { makeReward } from "./make-reward.ts";
import type { Reward, ScoredEpisode } from "./reward.ts";

export interface WebShopRewardOptions<Data, State> {
  /** What was bought; undefined for nothing, which is 0. */
  purchase: (episode: ScoredEpisode<Data, State>) => ShopPurchase | undefined;
  goal: (task: Data) => ShopGoal;
}

const knownWebShopRewardOptions: KnownOptions<WebShopRewardOptions<unknown, unknown>> = { purchase: true, goal: true };

/** WebShop: how far the purchase is what was wanted, in [0, 1]; solved where it meets everything. */
export function webShopReward<Data, State = unknown>(options: WebShopRewardOptions<Data, State>): Reward<Data, State> {
  refuseUnknownOptions("webShopReward", options, knownWebShopRewardOptions);
  const { purchase, goal } = options;
  return makeReward(
    (episode) => {
      const bought = purchase(episode);
      if (bought === undefined) return makeScore({ outcome: 0 });
      const { reward, isSolved } = webShopScore(bought, goal(episode.task));
      return makeScore({ outcome: reward }, isSolved);
    },
    { range: [0, 1] },
  );
}
