import { expect, test } from "vitest";
import type { ShopGoal, ShopPurchase } from "../scorer/web-shop.ts";
import { fakeEpisode } from "./testing/fake-episode.ts";
import { webShopReward } from "./web-shop-reward.ts";

const product = {
  query: "shirt",
  categories: ["Men", "Shirts"],
  nouns: ["shirt"],
  title: "Shirt",
  attributes: ["cotton"],
  bulletPoints: [],
  description: "",
};
const goal: ShopGoal = { ...product, options: ["xl"], priceUpper: 20 };

test("what was bought, or nothing", async () => {
  const reward = webShopReward<ShopGoal, ShopPurchase | undefined>({
    purchase: ({ state }) => state,
    goal: (task) => task,
  });
  const bought = (state?: ShopPurchase) => reward(fakeEpisode(goal, ["buy"], state === undefined ? {} : { state }));
  expect(await bought({ product, options: { size: "xl" }, price: 10 })).toMatchObject({ total: 1, success: true });
  expect((await bought({ product, options: { size: "m" }, price: 30 })).total).toBeCloseTo(1 / 3, 12);
  // as many points as asked for, but not those asked for: one attribute is missing, one option was not wanted
  const odd: ShopPurchase = {
    product: { ...product, attributes: [] },
    options: { size: "xl", kind: "shirt" },
    price: 10,
  };
  expect(await bought(odd)).toMatchObject({ total: 1, success: false });
  expect(await bought({ ...odd, product })).toMatchObject({ total: 1, success: true });
  expect(await bought()).toMatchObject({ total: 0, success: false });
});
