import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { bm25 } from "../../env/environments/bm25.ts";
import type { Catalogue, OptionValue, Product } from "../../env/environments/web-shop-catalogue.ts";
import { errorText, LudusError } from "../../errors.ts";
import { uniformAt } from "../../random.ts";
import { parseWith } from "../../schema/parse-with.ts";
import type { ShopGoal } from "../../scorer/web-shop.ts";
import { hashText } from "../../task/seeds.ts";
import { pythonShuffle } from "./python-shuffle.ts";
import { arrayElements } from "./read-array.ts";
import { findFile } from "./read-records.ts";

const code = "bad-benchmark-data";
const Item = z.object({
  asin: z.string(),
  name: z.string(),
  category: z.string(),
  query: z.string(),
  product_category: z.string(),
  full_description: z.string().nullish(),
  small_description: z.union([z.string(), z.array(z.string())]).nullish(),
  pricing: z.string().nullish(),
  customization_options: z
    .union([z.record(z.string(), z.array(z.looseObject({ value: z.string() })).nullable()), z.literal("")])
    .nullish(),
});
const Attributes = z.record(z.string(), z.object({ attributes: z.array(z.string()).optional() }));
const Instructions = z.record(
  z.string(),
  z.array(
    z.object({
      instruction: z.string(),
      instruction_attributes: z.array(z.string()),
      instruction_options: z.union([z.array(z.string()), z.record(z.string(), z.string())]),
    }),
  ),
);

export interface WebShopGoal {
  readonly asin: string;
  readonly text: string;
  readonly category: string;
  readonly goal: ShopGoal;
}

export interface WebShopFiles {
  readonly catalogue: Catalogue;
  /** In the order of the released server. */
  readonly goals: readonly WebShopGoal[];
}

export const webShopFiles =
  "items_shuffle.json or items_shuffle_1000.json, items_ins_v2.json (…_1000), items_human_ins.json";

/** The released files, read as the released server reads them. What it draws without a seed is drawn here by the product. */
export async function readWebShop(folder: string): Promise<WebShopFiles> {
  const path = await findFile(folder, ["items_shuffle.json", "items_shuffle_1000.json", /^items_shuffle.*\.json$/]);
  const attributes = await readObject(
    await findFile(folder, ["items_ins_v2.json", "items_ins_v2_1000.json", /^items_ins.*\.json$/]),
    Attributes,
  );
  const human = join(folder, "items_human_ins.json");
  if (!existsSync(human)) {
    throw new LudusError(code, {
      got: `${folder} without items_human_ins.json`,
      expected: "the instructions of people",
    });
  }
  const instructions = await readObject(human, Instructions);
  const products: Product[] = [];
  const goals: WebShopGoal[] = [];
  const seen = new Set<string>();
  let number = 0;
  for await (const text of arrayElements(path)) {
    const item = readItem(path, ++number, text);
    if (item.asin === "nan" || item.asin.length > 10 || seen.has(item.asin)) continue;
    seen.add(item.asin);
    const product = toProduct(item, attributes[item.asin]?.attributes ?? ["DUMMY_ATTR"]);
    products.push(product);
    const asked = Object.hasOwn(instructions, item.asin) ? instructions[item.asin] : [];
    for (const each of asked) {
      if (each.instruction_attributes.length > 0) goals.push(toGoal(product, item.category, each, goals.length));
    }
  }
  if (goals.length === 0) {
    throw new LudusError(code, {
      got: `${folder} without a goal`,
      expected: "instructions for products of the items file",
    });
  }
  const find = bm25(products.map(documentOf));
  return {
    catalogue: { products, find: (query, most) => find(query, most).map(({ index }) => index) },
    goals: pythonShuffle(goals.length, 233).map((index) => goals[index]),
  };
}

async function readObject<Value>(path: string, schema: z.ZodType<Value>): Promise<Value> {
  try {
    return parseWith(schema, JSON.parse(await readFile(path, "utf8")), path, code);
  } catch (cause) {
    if (cause instanceof LudusError) throw cause;
    throw new LudusError(code, { got: `${path}: ${errorText(cause)}`, expected: "one JSON object by product", cause });
  }
}

function readItem(path: string, number: number, text: string): z.infer<typeof Item> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new LudusError(code, { got: `${path}, record ${number}: ${errorText(cause)}`, expected: "JSON", cause });
  }
  return parseWith(Item, value, `${path}, record ${number}`, code);
}

function toProduct(item: z.infer<typeof Item>, attributes: readonly string[]): Product {
  const small = item.small_description ?? "";
  return {
    id: item.asin,
    query: item.query.toLowerCase().trim(),
    categories: item.product_category.split("›").map((part) => part.trim()),
    nouns: contentWords(item.name),
    title: item.name,
    attributes,
    bulletPoints: typeof small === "string" ? [small] : small,
    description: item.full_description ?? "",
    reviews: [],
    rating: 0,
    price: priceOf(item.asin, item.pricing ?? ""),
    options: optionsOf(item.customization_options || {}),
  };
}

function optionsOf(given: Readonly<Record<string, readonly { value: string }[] | null>>): Product["options"] {
  const options: Record<string, readonly OptionValue[]> = {};
  for (const [name, contents] of Object.entries(given)) {
    if (contents === null) continue;
    options[name.toLowerCase()] = contents.map(({ value }) => {
      return { value: value.trim().replaceAll("/", " | ").toLowerCase(), extra: 0 };
    });
  }
  return options;
}

/** One price, or one drawn between the first two. */
function priceOf(asin: string, pricing: string): number {
  const prices = pricing
    .split("$")
    .slice(1)
    .map((text) => Number(text.replace(/[^\d.]/g, "")));
  const [low, high] = prices;
  if (low === undefined || !Number.isFinite(low)) return 100;
  return high === undefined || !Number.isFinite(high) ? low : low + (high - low) * uniformAt(hashText(asin) >>> 0, 0);
}

type Instruction = z.infer<typeof Instructions>[string][number];

/** The upper price is the larger of two that are drawn from the next four tens. */
function toGoal(product: Product, category: string, asked: Instruction, index: number): WebShopGoal {
  const range = Array.from({ length: 99 }, (_, i) => 10 * (i + 1))
    .filter((price) => price > product.price)
    .slice(0, 4);
  const [first, second] = pythonShuffle(range.length, index + 1);
  const upper = range.length < 2 ? 1_000_000 : Math.max(range[first], range[second]);
  const price = range.length < 2 ? "" : `, and price lower than ${upper.toFixed(2)} dollars`;
  const { query, categories, nouns } = product;
  const wanted = asked.instruction_options;
  const options = Array.isArray(wanted) ? wanted : Object.values(wanted);
  return {
    asin: product.id,
    category,
    text: `${asked.instruction.replace(/^\.+|\.+$/g, "")}${price}`,
    goal: { query, categories, nouns, attributes: asked.instruction_attributes, options, priceUpper: upper },
  };
}

const joining = new Set(
  "a an and are as at be but by for from if in into is it its of on or our so that the their them then this to up was we with you your".split(
    " ",
  ),
);

/** In place of the nouns that the released code finds with a model of spaCy: words of letters that are no small words. */
function contentWords(name: string): readonly string[] {
  const words = name.toLowerCase().match(/\p{L}{2,}/gu) ?? [];
  return [...new Set(words)].filter((word) => !joining.has(word));
}

/** What the released index holds of a product. */
function documentOf({ title, description, bulletPoints, options }: Product): string {
  const listed = Object.entries(options).map(([name, values]) => {
    return `${name}: ${values.map(({ value }) => value).join(", ")}`;
  });
  return [title, description, bulletPoints[0] ?? "", listed.join(", and ")].join(" ");
}
