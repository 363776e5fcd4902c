import type { Style } from "./moves.ts";
import { type Catalogue, type Product, priceOf } from "./web-shop-catalogue.ts";

export interface ShopLayout {
  readonly style: Style;
  readonly perPage: number;
  readonly maxResults: number;
}

interface Results {
  readonly kind: "results";
  /** Indices of products. */
  readonly found: readonly number[];
  /** 0 for the first. */
  readonly number: number;
}

interface Item {
  readonly kind: "item";
  readonly product: number;
  readonly chosen: Readonly<Record<string, string>>;
  readonly from: Results;
}

export type Page =
  | { readonly kind: "search" }
  | Results
  | Item
  | { readonly kind: "detail"; readonly about: "description" | "features" | "reviews"; readonly from: Item };

/** What is the same on every page. */
export interface View {
  readonly catalogue: Catalogue;
  readonly layout: ShopLayout;
  /** The goal in words. */
  readonly asked: string;
}

export interface Intent {
  readonly search?: string | undefined;
  readonly click?: string | undefined;
}

type Label = "back" | "previous" | "next" | "description" | "features" | "reviews" | "buy";

interface Words {
  readonly labels: Readonly<Record<Label, string>>;
  search(words: string): string;
  click(label: string): string;
  read(said: string): Intent;
}

const tags: Words = {
  labels: {
    back: "Back to Search",
    previous: "< Prev",
    next: "Next >",
    buy: "Buy Now",
    description: "Description",
    features: "Features",
    reviews: "Reviews",
  },
  search: (words) => `search[${words}]`,
  click: (label) => `click[${label.toLowerCase()}]`,
  read(said) {
    const [, verb, argument] = /^(search|click)\[(.*)\]$/is.exec(said.trim()) ?? [];
    return verb?.toLowerCase() === "search" ? { search: argument } : { click: argument };
  },
};

const compact: Words = {
  labels: {
    back: "back",
    previous: "prev",
    next: "next",
    buy: "buy",
    description: "desc",
    features: "feat",
    reviews: "rev",
  },
  search: (words) => `? ${words}`,
  click: (label) => label,
  read: (said) => (said.trim().startsWith("?") ? { search: said.trim().slice(1) } : { click: said }),
};

/** `search[warm coat]` and `click[buy now]`; in compact style `? warm coat` and `buy`. */
export function wordsOf(style: Style): Words {
  return style === "tags" ? tags : compact;
}

/** Every label that can be clicked, in the order of the page. */
export function clickables(view: View, page: Page): string[] {
  return targets(view, page).map(([label]) => label);
}

/** Where an action leads; undefined where it leads nowhere. */
export function follow(view: View, page: Page, { search, click }: Intent): Page | "buy" | undefined {
  if (search !== undefined) {
    if (page.kind !== "search" || search.trim() === "") return undefined;
    return { kind: "results", found: view.catalogue.find(search, view.layout.maxResults), number: 0 };
  }
  const label = click?.trim().toLowerCase();
  return targets(view, page).find(([each]) => each.toLowerCase() === label)?.[1];
}

type Target = readonly [label: string, leadsTo: Page | "buy"];

function targets(view: View, page: Page): Target[] {
  const { labels } = wordsOf(view.layout.style);
  const back: Target = [labels.back, { kind: "search" }];
  switch (page.kind) {
    case "search":
      return [];
    case "results": {
      const turned = (by: number): Results => ({ ...page, number: page.number + by });
      const items = onPage(view, page).map(
        (product): Target => [view.catalogue.products[product].id, { kind: "item", product, chosen: {}, from: page }],
      );
      const previous: Target[] = page.number > 0 ? [[labels.previous, turned(-1)]] : [];
      const next: Target[] = onPage(view, turned(1)).length > 0 ? [[labels.next, turned(1)]] : [];
      return [back, ...previous, ...next, ...items];
    }
    case "item": {
      const { options } = view.catalogue.products[page.product];
      const values = Object.entries(options).flatMap(([name, list]) =>
        list.map(({ value }): Target => [value, { ...page, chosen: { ...page.chosen, [name]: value } }]),
      );
      const details = (["description", "features", "reviews"] as const).map(
        (about): Target => [labels[about], { kind: "detail", about, from: page }],
      );
      return [back, [labels.previous, page.from], ...values, ...details, [labels.buy, "buy"]];
    }
    case "detail":
      return [back, [labels.previous, page.from]];
    default:
      return page satisfies never;
  }
}

function onPage({ layout: { perPage } }: View, { found, number }: Results): readonly number[] {
  return found.slice(number * perPage, (number + 1) * perPage);
}

/** What can be read, as WebShop joins it; in compact style only what the page adds. */
export function showPage(view: View, page: Page): string {
  if (view.layout.style === "compact") return showCompactly(view, page);
  const head = ["Instruction:", view.asked];
  if (page.kind === "search") return ["WebShop", ...head, "Search"].join(" [SEP] ");
  return [...head, ...showParts(view, page)].join(" [SEP] ");
}

function showParts(view: View, page: Exclude<Page, { kind: "search" }>): string[] {
  const { labels } = tags;
  switch (page.kind) {
    case "results": {
      const items = onPage(view, page).map((index) => view.catalogue.products[index]);
      const turns = clickables(view, page).filter((label) => label === labels.previous || label === labels.next);
      const count = `Page ${page.number + 1} (Total results: ${page.found.length})`;
      return [labels.back, count, ...turns, ...items.flatMap(({ id, title, price }) => [id, title, dollars(price)])];
    }
    case "item": {
      const product = view.catalogue.products[page.product];
      const clicked = Object.values(page.chosen).map((value) => `You have clicked ${value}.`);
      const options = Object.entries(product.options).flatMap(([name, list]) => [
        name,
        ...list.map(({ value, extra }) => (extra === 0 ? value : `${value} (+${dollars(extra)})`)),
      ]);
      const price = `Price: ${dollars(priceOf(product, page.chosen))}`;
      const foot = [labels.description, labels.features, labels.reviews, labels.buy];
      const facts = [product.title, price, `Rating: ${product.rating}.0`];
      return [...clicked, labels.back, labels.previous, ...options, ...facts, ...foot];
    }
    case "detail":
      return [labels.back, labels.previous, ...detailOf(view.catalogue.products[page.from.product], page.about)];
    default:
      return page satisfies never;
  }
}

function detailOf(product: Product, about: "description" | "features" | "reviews"): readonly string[] {
  switch (about) {
    case "description":
      return [product.description];
    case "features":
      return product.bulletPoints;
    case "reviews":
      return product.reviews.length === 0 ? ["No reviews yet."] : product.reviews;
    default:
      return about satisfies never;
  }
}

function showCompactly(view: View, page: Page): string {
  const { products } = view.catalogue;
  switch (page.kind) {
    case "search":
      return "?";
    case "results":
      // without the brand: goals never name one
      return (
        onPage(view, page)
          .map((index) => products[index])
          .map(({ id, title, price }) => [id, ...title.split(" ").slice(1), price].join(" "))
          .join("\n") || "none"
      );
    case "item": {
      const product = products[page.product];
      const options = Object.entries(product.options).map(([name, list]) =>
        list
          .map(({ value, extra }) => {
            return `${page.chosen[name] === value ? "*" : ""}${value}${extra === 0 ? "" : `+${extra}`}`;
          })
          .join(" "),
      );
      return [`${product.id} ${priceOf(product, page.chosen)}`, ...options].join("\n");
    }
    case "detail": {
      const product = products[page.from.product];
      return page.about === "reviews" ? `${product.rating}/5` : product.attributes.join(" ");
    }
    default:
      return page satisfies never;
  }
}

function dollars(amount: number): string {
  return `$${amount.toFixed(2)}`;
}
