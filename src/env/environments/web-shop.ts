import { defined } from "../../defined.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { plain } from "../../policy/formats/plain.ts";
import { thinkAnswer } from "../../policy/formats/think-answer.ts";
import { makeScore } from "../../schema/score.ts";
import { type ShopGoal, webShopScore } from "../../scorer/web-shop.ts";
import { generated } from "../../task/generated.ts";
import { defineEnv } from "../define-env.ts";
import type { ActContext, Acted, Env, ExpertContext } from "../env.ts";
import { checkWholeOptions } from "./check-options.ts";
import type { Style } from "./moves.ts";
import { describeTurn, ragenSystem } from "./ragen-prompt.ts";
import { drawGoal, makeCatalogue, optionsFor, type Purchase, priceOf } from "./web-shop-catalogue.ts";
import { clickables, follow, type Page, type ShopLayout, showPage, type View, wordsOf } from "./web-shop-pages.ts";

export interface WebShopOptions {
  style: Style;
  products: number;
  /** Products on a page of results; 10 in tags style, 5 in compact style. */
  perPage: number | "by-style";
  maxResults: number;
  turns: number;
  /** A score of your own in place of WebShop's; 1 or more is solved. */
  scoreOf?: (purchase: Purchase, goal: ShopGoal) => number;
  seed: number;
}

const knownWebShopOptions: KnownOptions<WebShopOptions> = {
  style: true,
  products: true,
  perPage: true,
  maxResults: true,
  turns: true,
  scoreOf: true,
  seed: true,
};

/** WebShop's pages and RAGEN's number of turns. */
const defaults: WebShopOptions = {
  style: "compact",
  products: 200,
  perPage: "by-style",
  maxResults: 50,
  turns: 9,
  seed: 0,
};

export interface WebShopTask {
  /** Seed of the catalogue. */
  readonly shop: number;
  readonly goal: ShopGoal;
}

export interface WebShopState extends View {
  page: Page;
  bought: Purchase | undefined;
}

/**
 * Find and buy what was asked for. Only a purchase is rewarded: with the share of what was asked for that it meets. Invalid
 * actions change nothing. The split `unseen-shop` has goals of another catalogue.
 */
export function webShop(options: Partial<WebShopOptions> = {}): Env<WebShopTask, WebShopState> {
  refuseUnknownOptions("webShop", options, knownWebShopOptions);
  const chosen = { ...defaults, ...options };
  const { style, products, perPage, maxResults, turns, scoreOf, seed } = chosen;
  checkWholeOptions("web-shop", {
    products: [products, 20, 10_000],
    perPage: [perPage === "by-style" ? 10 : perPage, 1, 100],
    maxResults: [maxResults, 1, 1000],
    turns: [turns, 2, 1000],
  });
  const layout: ShopLayout = {
    style,
    maxResults,
    perPage: perPage === "by-style" ? (style === "tags" ? 10 : 5) : perPage,
  };
  const makeShop = (shop: number) => makeCatalogue({ seed: shop, products, hasShortIds: style === "compact" });
  const shops = new Map([seed, seed + 1].map((shop) => [shop, makeShop(shop)]));
  return defineEnv<WebShopTask, WebShopState>({
    name: "web-shop",
    description: `Search ${products} products, choose options, buy what was asked for`,
    tasks: generated(
      (rng, split) => {
        const shop = split === "unseen-shop" ? seed + 1 : seed;
        return { shop, goal: drawGoal(rng, shops.get(shop)!) };
      },
      { name: "web-shop", seed, splits: ["train", "test", "unseen-shop"], key: ({ goal }) => askCompactly(goal) },
    ),
    ...defined({ system: style === "tags" ? ragenSystem : undefined }),
    start({ task: { shop, goal } }) {
      const catalogue = shops.get(shop) ?? makeShop(shop);
      const asked = style === "tags" ? ask(goal) : askCompactly(goal);
      const state: WebShopState = { catalogue, layout, asked, page: { kind: "search" }, bought: undefined };
      return { state, say: style === "tags" ? `${introduction}\n${describe(state, 1, turns)}` : asked };
    },
    // the catalogue is shared by all episodes, and a page is replaced, never changed
    copy: (state) => ({ ...state }),
    act: (context) => act(context, turns),
    score({ task, state: { bought } }) {
      if (bought === undefined) return makeScore({ outcome: 0 }, false);
      const own = scoreOf?.(bought, task.goal);
      if (own !== undefined) return makeScore({ outcome: own }, own >= 1);
      const { reward, isSolved } = webShopScore(bought, task.goal);
      return makeScore({ outcome: reward }, isSolved);
    },
    expert: advise,
    actions: ({ task, state }) => [
      ...searches(task.goal, state),
      ...clickables(state, state.page).map(wordsOf(style).click),
    ],
    stateKey: (state) => `${state.asked}|${JSON.stringify(state.page)}`,
    limits: { turns, turnTokens: style === "tags" ? 256 : 64 },
    format: style === "tags" ? thinkAnswer() : plain(),
  });
}

const introduction =
  "You are shopping online. Find a product that meets the instruction, choose the options it asks for, and buy it. " +
  "In each turn you can search, where there is a search bar, or click one of the things on the page. " +
  "Example answer format: <think>I should look for it first.</think><answer>search[warm coat]</answer>";

function describe(state: WebShopState, turn: number, actionsLeft: number): string {
  const clicks = clickables(state, state.page).map(wordsOf("tags").click);
  const search = state.page.kind === "search" ? ["search[<words to look for>]"] : [];
  const shown = `${showPage(state, state.page)}\nAvailable actions: ${[...search, ...clicks].join(", ")}`;
  return describeTurn({ turn, state: shown, actionsLeft });
}

/** In the words of WebShop's own goals. */
function ask({ nouns, attributes, options, priceUpper }: ShopGoal): string {
  const wanted = [...options.map((value) => `in ${value}`), `price at most ${priceUpper.toFixed(2)} dollars`];
  return `i am looking for ${attributes.join(", ")} ${nouns.join(" ")}, ${wanted.join(", and ")}`;
}

function askCompactly({ nouns, attributes, options, priceUpper }: ShopGoal): string {
  return [...nouns, ...attributes, ...options, `<=${priceUpper}`].join(" ");
}

function act({ state, answer, turn }: ActContext<WebShopTask, WebShopState>, turns: number): Acted {
  const { style } = state.layout;
  const { search, click } = wordsOf(style).read(answer);
  const next = follow(state, state.page, { search, click });
  if (next === "buy" && state.page.kind === "item") {
    const { product: index, chosen } = state.page;
    const product = state.catalogue.products[index];
    state.bought = { product, options: chosen, price: priceOf(product, chosen) };
    return { say: style === "tags" ? "Thank you for shopping with us!" : "bought", done: true };
  }
  const isValid = next !== undefined && next !== "buy";
  if (isValid) state.page = next;
  const shown = style === "tags" ? describe(state, turn + 2, turns - turn - 1) : showPage(state, state.page);
  // in compact style an unchanged page is answered with one word
  return { say: style === "compact" && !isValid ? "no" : shown, info: { isValid } };
}

/** Searches with the goal's words, all of them or fewer. */
function searches({ nouns, attributes, options }: ShopGoal, { page, layout: { style } }: WebShopState): string[] {
  if (page.kind !== "search") return [];
  const queries = [[...nouns], [...nouns, ...attributes], [...nouns, ...attributes, ...options]];
  return [...new Set(queries.map((words) => words.join(" ")))].map(wordsOf(style).search);
}

/** Knows the catalogue: opens the first result that can meet the goal, and looks no further than the pages of results. */
function advise({ task: { goal }, state }: ExpertContext<WebShopTask, WebShopState>): string | undefined {
  const { page, catalogue, layout } = state;
  const { click, labels } = wordsOf(layout.style);
  switch (page.kind) {
    case "search":
      return searches(goal, state).at(-1);
    case "results": {
      const rank = page.found.findIndex((index) => optionsFor(catalogue.products[index], goal) !== undefined);
      if (rank < 0) return click(labels.back);
      const ahead = Math.floor(rank / layout.perPage) - page.number;
      if (ahead !== 0) return click(ahead > 0 ? labels.next : labels.previous);
      return click(catalogue.products[page.found[rank]].id);
    }
    case "item": {
      const product = catalogue.products[page.product];
      const wanted = optionsFor(product, goal);
      // a chosen option cannot be unchosen: only opening the page again clears it
      const isTooDear = priceOf(product, { ...page.chosen, ...wanted }) > goal.priceUpper;
      if (wanted === undefined || isTooDear) return click(labels.previous);
      const missing = Object.entries(wanted).find(([name, value]) => page.chosen[name] !== value);
      return click(missing === undefined ? labels.buy : missing[1]);
    }
    case "detail":
      return click(labels.previous);
    default:
      return page satisfies never;
  }
}
