import { tokenSetRatio } from "./fuzzy-ratio.ts";

export interface ShopProduct {
  query: string;
  /** Names from general to special, as in `Clothing › Men › Shirts`. */
  categories: readonly string[];
  /** The nouns of its name in lower case; the original finds them with a part-of-speech tagger. */
  nouns: readonly string[];
  title: string;
  attributes: readonly string[];
  bulletPoints: readonly string[];
  description: string;
}

export interface ShopGoal {
  query: string;
  categories: readonly string[];
  nouns: readonly string[];
  attributes: readonly string[];
  /** Wanted values of options, in lower case. */
  options: readonly string[];
  priceUpper: number;
}

export interface ShopPurchase {
  product: ShopProduct;
  /** Chosen options: name to value. */
  options: Readonly<Record<string, string>>;
  price: number;
}

export interface WebShopScore {
  /** In [0, 1]. */
  reward: number;
  /** Whether the type is right and every attribute, option and the price is met. */
  isSolved: boolean;
  type: number;
  attributeMatches: number;
  optionMatches: number;
  isPriceRight: boolean;
}

/** The first of these found in an option stands for it; alphabetical, as order decides. */
const colours =
  "aqua beige black blue bronze brown burgundy camel charcoal coral cream cyan emerald fuchsia gold gray green grey indigo ivory khaki lavender lilac lime magenta maroon mint multicolor mustard navy nude olive orange peach pink plum purple rainbow red rose rust sand silver tan taupe teal turquoise violet white wine yellow".split(
    " ",
  );
const exactOptions = new Set(["size"]);

/**
 * WebShop's reward for a purchase: the share of wanted attributes, options and price that are met, times how far the
 * product is of the wanted type (1, 0.5, 0.1 or 0). The released code also counts chosen options that nobody asked for, so that
 * they can replace what is missing and raise the reward above 1: here the reward ends at 1, and solved is only what meets
 * everything.
 */
export function webShopScore({ product, options, price }: ShopPurchase, goal: ShopGoal): WebShopScore {
  const text = [product.title, product.bulletPoints.join(" "), product.description].map((part) => part.toLowerCase());
  const isWritten = (wanted: string) => text.some((part) => part.includes(wanted));
  const attributeMatches = goal.attributes.filter(
    (wanted) => product.attributes.some((had) => tokenSetRatio(had, wanted) > 85) || isWritten(wanted),
  ).length;
  const wantedOptions = goal.options.map(normalizeColour);
  const chosen = Object.entries(options).map(([name, value]) => ({ name, value: normalizeColour(value) }));
  const optionMatches = chosen.filter(
    (option) => wantedOptions.some((wanted) => isOption(option, wanted)) || isWritten(option.value),
  ).length;
  const isPriceRight = price <= goal.priceUpper;
  const type = typeScore(product, goal);
  const met = attributeMatches + optionMatches + (isPriceRight ? 1 : 0);
  const reward = Math.min(1, (type * met) / (goal.attributes.length + goal.options.length + 1));
  const areOptionsMet = wantedOptions.every((wanted) => chosen.some((option) => isOption(option, wanted)));
  const isSolved = type === 1 && isPriceRight && areOptionsMet && attributeMatches === goal.attributes.length;
  return { reward, isSolved, type, attributeMatches, optionMatches, isPriceRight };
}

function isOption({ name, value }: { name: string; value: string }, wanted: string): boolean {
  return exactOptions.has(name.toLowerCase()) ? value === wanted : tokenSetRatio(wanted, value) > 85;
}

function typeScore(product: ShopProduct, goal: ShopGoal): number {
  const shared = sharedCount(product.nouns, goal.nouns);
  const title = goal.nouns.length === 0 ? 0.2 : shared / goal.nouns.length;
  if (title === 0) return 0;
  if (title < 0.1) return 0.1;
  const isSameCategory = sharedCount(product.categories, goal.categories) >= 2;
  return product.query === goal.query || isSameCategory || title > 0.2 ? 1 : 0.5;
}

function sharedCount(a: readonly string[], b: readonly string[]): number {
  return [...new Set(a)].filter((item) => b.includes(item)).length;
}

function normalizeColour(value: string): string {
  return colours.find((colour) => value.includes(colour)) ?? value;
}
