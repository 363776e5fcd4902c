import { expect, test } from "vitest";
import { type ShopGoal, type ShopProduct, webShopScore } from "./web-shop.ts";

const product: ShopProduct = {
  query: "shirts",
  categories: ["Clothing", "Men", "Shirts"],
  nouns: ["shirt", "cotton"],
  title: "Casual Shirt, machine wash",
  attributes: ["long sleeve cotton"],
  bulletPoints: ["Slim fit"],
  description: "A shirt.",
};
const goal: ShopGoal = {
  query: "shirts",
  categories: ["Clothing", "Men", "Shirts"],
  nouns: ["shirt"],
  attributes: ["long sleeve", "slim fit"],
  options: ["navy blue", "large"],
  priceUpper: 30,
};
const options = { color: "blue sky", size: "large" };

test("everything met is 1", () => {
  expect(webShopScore({ product, options, price: 30 }, goal)).toEqual({
    reward: 1,
    isSolved: true,
    type: 1,
    attributeMatches: 2,
    optionMatches: 2,
    isPriceRight: true,
  });
});

test("every miss costs its share", () => {
  expect(webShopScore({ product, options, price: 31 }, goal).reward).toBeCloseTo(0.8, 12);
  expect(webShopScore({ product, options: { color: "red", size: "large" }, price: 1 }, goal).reward).toBeCloseTo(
    0.8,
    12,
  );
  expect(webShopScore({ product, options: {}, price: 1 }, goal).reward).toBeCloseTo(0.6, 12);
  const waterproof = { ...goal, attributes: ["waterproof", "slim fit"] };
  expect(webShopScore({ product, options, price: 1 }, waterproof).reward).toBeCloseTo(0.8, 12);
});

test("a size must be equal, a colour need not be", () => {
  expect(webShopScore({ product, options: { size: "large wide" }, price: 1 }, goal).optionMatches).toBe(0);
  expect(webShopScore({ product, options: { fit: "large wide" }, price: 1 }, goal).optionMatches).toBe(1);
});

test("the type: 1, 0.5, 0.1 or 0", () => {
  const other = { ...product, query: "x", categories: ["y"] };
  const of = (nouns: readonly string[], wanted: readonly string[]) =>
    webShopScore({ product: { ...other, nouns }, options, price: 1 }, { ...goal, nouns: wanted }).type;
  const many = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"];
  expect(of(["a"], ["a", "b"])).toBe(1);
  expect(of(["a"], ["a", "b", "c", "d", "e"])).toBe(0.5);
  expect(of(["a"], many)).toBe(0.1);
  expect(of(["z"], ["a"])).toBe(0);
  expect(of(["z"], [])).toBe(0.5);
});

test("an option that nobody asked for raises the reward, but solves nothing", () => {
  const chosen = { color: "blue", size: "small", fit: "slim fit" };
  // as in the released code "slim fit" counts, because the product's text has it
  expect(webShopScore({ product, options: chosen, price: 1 }, goal)).toMatchObject({
    reward: 1,
    optionMatches: 2,
    isSolved: false,
  });
  const missing = { ...goal, attributes: ["waterproof", "slim fit"] };
  const more = { ...options, fit: "slim fit" };
  expect(webShopScore({ product, options: more, price: 1 }, missing)).toMatchObject({ reward: 1, isSolved: false });
  const most = { ...options, fit: "slim fit", care: "machine wash" };
  expect(webShopScore({ product, options: most, price: 1 }, goal)).toMatchObject({ reward: 1, isSolved: true });
});
