import { createRng, type Rng } from "../../random.ts";
import { type ShopGoal, type ShopProduct, type ShopPurchase, webShopScore } from "../../scorer/web-shop.ts";
import { bm25 } from "./bm25.ts";
import { draw, pick } from "./draw.ts";

export interface OptionValue {
  readonly value: string;
  /** Added to the product's price. */
  readonly extra: number;
}

export interface Product extends ShopProduct {
  readonly id: string;
  readonly reviews: readonly string[];
  /** Of 5. */
  readonly rating: number;
  /** In whole dollars, without options. */
  readonly price: number;
  readonly options: Readonly<Record<string, readonly OptionValue[]>>;
}

export interface Purchase extends ShopPurchase {
  readonly product: Product;
}

export interface Catalogue {
  readonly products: readonly Product[];
  /** Indices of products, best first. */
  find(query: string, most: number): readonly number[];
}

export interface CatalogueOptions {
  seed: number;
  products: number;
  /** `p17` instead of ten letters and digits. */
  hasShortIds: boolean;
}

interface Department {
  readonly nouns: readonly string[];
  readonly attributes: readonly string[];
  readonly options: Readonly<Record<string, readonly string[]>>;
}

const departments: Readonly<Record<string, Department>> = {
  clothing: {
    nouns: ["shirt", "coat", "dress", "socks"],
    attributes: ["cotton", "slim", "washable", "warm", "striped", "soft", "casual", "stretchy"],
    options: { color: ["red", "blue", "black", "white", "green"], size: ["S", "M", "L", "XL"] },
  },
  shoes: {
    nouns: ["boots", "sandals", "sneakers", "slippers"],
    attributes: ["leather", "waterproof", "light", "padded", "wide", "vegan", "lined", "grippy"],
    options: { color: ["brown", "tan", "gray", "navy", "pink"], size: ["6", "7", "8", "9", "10"] },
  },
  furniture: {
    nouns: ["table", "chair", "lamp", "shelf"],
    attributes: ["wooden", "metal", "foldable", "modern", "sturdy", "round", "compact", "painted"],
    options: { finish: ["oak", "walnut", "pine", "chrome"], height: ["low", "tall", "medium"] },
  },
  food: {
    nouns: ["tea", "cookies", "soup", "honey"],
    attributes: ["organic", "sugarless", "kosher", "salted", "roasted", "raw", "spicy", "local"],
    options: { flavor: ["lemon", "mint", "ginger", "vanilla", "cherry"], pack: ["x1", "x3", "x6", "x12"] },
  },
  electronics: {
    nouns: ["phone", "speaker", "camera", "charger"],
    attributes: ["wireless", "portable", "fast", "rugged", "quiet", "solar", "digital", "tiny"],
    options: { storage: ["16GB", "32GB", "64GB"], kit: ["basic", "plus", "pro"] },
  },
};

const syllables = ["ba", "ko", "li", "mu", "ne", "ro", "sa", "ti", "vo", "zu"];
const praise = ["Just as described.", "Would buy again.", "Came late, but works.", "Smaller than I thought."];

/** The same seed gives the same shop. Products of one noun differ in attributes, options and price: they are the distractors. */
export function makeCatalogue({ seed, products: count, hasShortIds }: CatalogueOptions): Catalogue {
  const rng = createRng(seed);
  const ids = inventIds(rng, count, hasShortIds);
  const products = ids.map((id, index) => makeProduct(rng, id, index));
  const find = bm25(products.map(documentOf));
  return { products, find: (query, most) => find(query, most).map(({ index }) => index) };
}

function inventIds(rng: Rng, count: number, hasShortIds: boolean): string[] {
  if (hasShortIds) return Array.from({ length: count }, (_, index) => `p${index + 1}`);
  const ids = new Set<string>();
  while (ids.size < count) ids.add(`B0${Math.floor(rng.next() * 36 ** 8).toString(36)}`.toUpperCase().padEnd(10, "0"));
  return [...ids];
}

function makeProduct(rng: Rng, id: string, index: number): Product {
  const names = Object.keys(departments);
  const category = names[index % names.length];
  const { nouns, attributes: known, options } = departments[category];
  const noun = nouns[Math.floor(index / names.length) % nouns.length];
  const attributes = draw(rng, known, 3 + rng.integer(3));
  const brand = draw(rng, syllables, 3).join("");
  return {
    id,
    query: noun,
    categories: [category, noun],
    nouns: [noun],
    attributes,
    // what is not in the title stands in the features: some products have to be opened to be known
    title: `${brand} ${attributes.slice(0, 2).join(" ")} ${noun}`,
    bulletPoints: attributes.map((attribute) => `${attribute} ${noun}`),
    description: `The ${brand} ${noun} is ${attributes.slice(0, -1).join(", ")} and ${attributes.at(-1)}.`,
    reviews: draw(rng, praise, rng.integer(3)),
    rating: 1 + rng.integer(5),
    price: 5 + rng.integer(76),
    options: Object.fromEntries(Object.entries(options).map(([name, values]) => [name, drawValues(rng, values)])),
  };
}

function drawValues(rng: Rng, values: readonly string[]): OptionValue[] {
  const kept = draw(rng, values, 2 + rng.integer(values.length - 1)).sort(
    (a, b) => values.indexOf(a) - values.indexOf(b),
  );
  return kept.map((value) => ({ value, extra: rng.next() < 0.5 ? 0 : 1 + rng.integer(15) }));
}

function documentOf({ title, description, bulletPoints, options }: Product): string {
  const values = Object.values(options).flatMap((list) => list.map(({ value }) => value));
  return [title, description, ...bulletPoints, ...values].join(" ");
}

export function priceOf(product: Product, chosen: Readonly<Record<string, string>>): number {
  return Object.entries(chosen).reduce((price, [name, value]) => {
    return price + (product.options[name]?.find((option) => option.value === value)?.extra ?? 0);
  }, product.price);
}

/** One to three attributes and up to two options of some product, and a limit that its price keeps. */
export function drawGoal(rng: Rng, { products }: Catalogue): ShopGoal {
  const product = pick(rng, products);
  const options = draw(rng, Object.entries(product.options), rng.integer(3)).map(([name, values]) => {
    return [name, pick(rng, values).value] as const;
  });
  const price = priceOf(product, Object.fromEntries(options));
  const { query, categories, nouns } = product;
  return {
    query,
    categories,
    nouns,
    attributes: draw(rng, product.attributes, 1 + rng.integer(3)),
    options: options.map(([, value]) => value),
    priceUpper: 10 * (Math.ceil(price / 10) + rng.integer(3)),
  };
}

/** Which options would meet the goal; undefined where this product cannot. */
export function optionsFor(product: Product, goal: ShopGoal): Readonly<Record<string, string>> | undefined {
  const options = Object.entries(product.options).flatMap(([name, values]) => {
    const wanted = values.find(({ value }) => goal.options.includes(value));
    return wanted === undefined ? [] : [[name, wanted.value] as const];
  });
  const chosen = Object.fromEntries(options);
  const { isSolved } = webShopScore({ product, options: chosen, price: priceOf(product, chosen) }, goal);
  return isSolved ? chosen : undefined;
}
