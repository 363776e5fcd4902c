import { clickables, follow, type Page, showPage, type View, wordsOf } from "../../env/environments/web-shop-pages.ts";
import { type ShopPurchase, webShopScore } from "../../scorer/web-shop.ts";
import type { Benchmark, BenchmarkMessage, BenchmarkScore, Chat } from "./benchmark.ts";
import { readWebShop, type WebShopGoal, webShopFiles } from "./web-shop-files.ts";

/** Goals of the published test set. */
const testGoals = 500;
const mostSteps = 30;
const layout = { style: "tags", perPage: 10, maxResults: 50 } as const;

const rule =
  "You shop for what the instruction asks for. In each turn you see a page, with [SEP] between its parts, and answer with one action: search[words], or click[label] with a label that can be clicked. Choose options before you click[buy now], which ends the task.";

/**
 * WebShop on its released files: the pages of the text environment, and the released reward. Search is BM25 over the released documents, words as
 * they are, where the original's Lucene stems them; the nouns of a title are its words, where the original asks a tagger.
 */
export const webShop: Benchmark = {
  name: "webshop",
  description: "WebShop: find and buy what an instruction asks for; the first 500 goals",
  files: webShopFiles,
  async load(folder) {
    const { catalogue, goals } = await readWebShop(folder);
    return goals.slice(0, testGoals).map((goal, index) => ({
      id: `webshop/${index}`,
      text: goal.text,
      category: goal.category,
      attempt: (chat) => shop({ catalogue, layout, asked: goal.text }, goal, chat),
    }));
  },
};

async function shop(view: View, { goal }: WebShopGoal, chat: Chat): Promise<BenchmarkScore> {
  const { read } = wordsOf("tags");
  const messages: BenchmarkMessage[] = [{ role: "system", content: rule }];
  let page: Page = { kind: "search" };
  for (let step = 0; step < mostSteps; step++) {
    messages.push({ role: "user", content: pageText(view, page) });
    const { text } = await chat({ messages });
    messages.push({ role: "assistant", content: text });
    const intent = read(lastAction(text));
    // a search is possible from every page
    const next = follow(view, intent.search === undefined ? page : { kind: "search" }, intent);
    if (next === "buy" && page.kind === "item") {
      const product = view.catalogue.products[page.product];
      return scoreOf({ product, options: page.chosen, price: product.price }, goal);
    }
    if (next !== undefined && next !== "buy") page = next;
  }
  return { success: false, metrics: { score: 0 } };
}

function pageText(view: View, page: Page): string {
  const labels = clickables(view, page).map((label) => `click[${label.toLowerCase()}]`);
  return `${showPage(view, page)}\n\nActions: ${["search[words]", ...labels].join(", ")}`;
}

function lastAction(text: string): string {
  return text.match(/(?:search|click)\[[^\]\n]*\]/gi)?.at(-1) ?? "";
}

/** Not limited to 1, as released: options that nobody asked for count where they match. */
function scoreOf(purchase: ShopPurchase, goal: WebShopGoal["goal"]): BenchmarkScore {
  const { type, attributeMatches, optionMatches, isPriceRight } = webShopScore(purchase, goal);
  const met = attributeMatches + optionMatches + (isPriceRight ? 1 : 0);
  const score = (type * met) / (goal.attributes.length + goal.options.length + 1);
  return { success: score === 1, metrics: { score } };
}
