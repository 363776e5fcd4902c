import { describe, expect, test } from "vitest";
import { createRng } from "../../random.ts";
import type { ShopGoal } from "../../scorer/web-shop.ts";
import { Episode } from "../episode.ts";
import { playEpisode } from "./testing/play-episode.ts";
import { webShop } from "./web-shop.ts";
import { drawGoal, makeCatalogue, optionsFor } from "./web-shop-catalogue.ts";

const wanted: ShopGoal = {
  query: "shirt",
  categories: ["clothing", "shirt"],
  nouns: ["shirt"],
  attributes: ["soft", "slim"],
  options: ["red", "L"],
  priceUpper: 30,
};

test("a shop is as large as asked, the same for the same seed, and every goal can be met by some product", () => {
  const make = (seed: number) => makeCatalogue({ seed, products: 200, hasShortIds: false });
  const shop = make(3);
  expect(shop.products).toEqual(make(3).products);
  expect(shop.products).not.toEqual(make(4).products);
  expect(new Set(shop.products.map(({ id }) => id)).size).toBe(200);
  for (const { id } of shop.products) expect(id).toMatch(/^B0[0-9A-Z]{8}$/);
  const rng = createRng(1);
  for (let i = 0; i < 200; i++) {
    const goal = drawGoal(rng, shop);
    expect(goal.attributes.length).toBeGreaterThanOrEqual(1);
    expect(goal.attributes.length).toBeLessThanOrEqual(3);
    expect(goal.options.length).toBeLessThanOrEqual(2);
    expect(shop.products.some((product) => optionsFor(product, goal) !== undefined)).toBe(true);
  }
});

test("search finds the noun first, and at most fifty", () => {
  const { products, find } = makeCatalogue({ seed: 0, products: 600, hasShortIds: true });
  const found = find("lamp", 50);
  expect(found).toHaveLength(30);
  expect(found.every((index) => products[index].nouns[0] === "lamp")).toBe(true);
  expect(find("lamp wooden", 50)).toHaveLength(50);
  expect(products[find("wooden lamp", 50)[0]].attributes).toContain("wooden");
  expect(find("zebra", 50)).toEqual([]);
});

describe("pages in tags style", () => {
  const env = webShop({ style: "tags" });
  const say = (answer: string) => `<think></think><answer>${answer}</answer>`;
  const task = {
    id: "t",
    seed: 1,
    data: { shop: 0, goal: { ...wanted, attributes: ["cotton"], options: ["red"] } },
  };
  const play = async (...answers: string[]) => {
    const played = await playEpisode(env, task, answers.map(say));
    return { ...played, last: played.turns.at(-1)!.observation };
  };

  test("search, results, item, details and back", async () => {
    const { heard, last } = await play("search[cotton shirt]");
    expect(heard[0]).toContain(
      "WebShop [SEP] Instruction: [SEP] i am looking for cotton shirt, in red, and price at most 30.00 dollars [SEP] Search",
    );
    expect(heard[0]).toContain("You have 9 actions left.");
    expect(last).toMatch(/Back to Search \[SEP\] Page 1 \(Total results: \d+\) \[SEP\] Next > \[SEP\] B0/);
    expect(last).toContain("You have 8 actions left.");
    const ids = [...last.matchAll(/click\[(b0\w{8})\]/g)].map(([, id]) => id);
    expect(ids).toHaveLength(10);

    const item = await play("search[cotton shirt]", `click[${ids[0]}]`);
    expect(item.last).toMatch(
      /\[SEP\] < Prev \[SEP\] color \[SEP\] .* \[SEP\] size \[SEP\] .* \[SEP\] Price: \$\d+\.00/,
    );
    expect(item.last).toContain("Description [SEP] Features [SEP] Reviews [SEP] Buy Now");
    const features = await play("search[cotton shirt]", `click[${ids[0]}]`, "click[features]");
    expect(features.last).toContain("cotton shirt");
    expect(features.last).toContain("Available actions: click[back to search], click[< prev]");
    const again = await play("search[cotton shirt]", `click[${ids[0]}]`, "click[Features]", "click[< prev]");
    expect(again.last.split("\n")[2]).toBe(item.last.split("\n")[2]);
    const results = await play("search[cotton shirt]", `click[${ids[0]}]`, "click[< prev]");
    expect(results.last.split("\n")[2]).toBe(last.split("\n")[2]);
    const second = await play("search[cotton shirt]", "click[next >]", "click[< prev]");
    expect(second.last.split("\n")[2]).toBe(last.split("\n")[2]);
  });

  test("what cannot be done changes nothing and costs nothing but the turn", async () => {
    const wrong = ["click[buy now]", "search[]", "click[B000000000]", "buy", "search[x", "", "click[__proto__]"];
    const { turns, scores, stop } = await play(...wrong, "click[next >]", "click[search]");
    const pages = turns.map(({ observation }) => observation.split("\n")[2]);
    expect(new Set(pages).size).toBe(1);
    expect(turns.every(({ reward, info }) => reward === 0 && info?.isValid === false)).toBe(true);
    expect(scores.agent).toMatchObject({ total: 0, success: false });
    expect(stop).toBe("max-turns");
  });

  test("there is no search bar on the other pages", async () => {
    const { last } = await play("search[cotton shirt]", "search[soup]");
    expect(last).toContain("cotton");
    expect(last.split("\n")[2]).not.toContain("soup");
  });

  test("only buying is rewarded, and ends the episode", async () => {
    const { last } = await play("search[tea]");
    const id = /click\[(b0\w{8})\]/.exec(last)![1];
    const { scores, stop } = await play("search[tea]", `click[${id}]`, "click[buy now]", "click[buy now]");
    expect(stop).toBe("completed");
    // tea is no shirt: nothing of it counts
    expect(scores.agent).toMatchObject({ total: 0, success: false });
  });
});

test("a purchase is scored as WebShop scores it", async () => {
  const { products } = makeCatalogue({ seed: 0, products: 200, hasShortIds: true });
  const buy = async (query: string, goal: ShopGoal) => {
    const task = { id: "t", seed: 1, data: { shop: 0, goal } };
    const first = await playEpisode(webShop(), task, [`? ${query}`]);
    const id = first.turns[0].observation.split(" ")[0];
    const { scores } = await playEpisode(webShop(), task, [`? ${query}`, id, "buy"]);
    return { ...scores.agent, bought: products.find((product) => product.id === id)! };
  };
  const { attributes } = (await buy("shirt", wanted)).bought;
  const met = { ...wanted, attributes: attributes.slice(0, 2), options: [], priceUpper: 1000 };
  expect(await buy("shirt", met)).toMatchObject({ total: 1, success: true });
  // of two attributes, one option and the price
  expect(await buy("shirt", { ...met, options: ["red"] })).toMatchObject({ total: 3 / 4, success: false });
  expect(await buy("shirt", { ...met, priceUpper: 1 })).toMatchObject({ total: 2 / 3, success: false });
  // the wrong noun is the wrong type, whatever else is right
  expect(await buy("coat", met)).toMatchObject({ total: 0, success: false });
});

test("a score of one's own takes the place of WebShop's", async () => {
  const env = webShop({ scoreOf: ({ price }, { priceUpper }) => (price <= priceUpper ? 0.25 : 0) });
  const { scores } = await playEpisode(env, await env.tasks.at("train", 0), "expert");
  expect(scores.agent).toEqual({ total: 0.25, parts: { outcome: 0.25 }, success: false });
});

test("compact pages are short", async () => {
  const env = webShop();
  const { heard, turns } = await playEpisode(env, await env.tasks.at("train", 5), "expert");
  expect({ heard, said: turns.map(({ text }) => text) }).toMatchInlineSnapshot(`
    {
      "heard": [
        "table foldable <=80",
        "p23 foldable compact table 18
    p143 foldable round table 60
    p3 compact modern table 32
    p83 metal painted table 18
    p63 painted metal table 27",
        "p23 18
    oak+1 walnut+6 chrome
    tall+14 medium+2",
      ],
      "said": [
        "? table foldable",
        "p23",
        "buy",
      ],
    }
  `);
});

describe.each(["tags", "compact"] as const)("in %s style", (style) => {
  test("the expert buys the right thing in nearly all tasks", async () => {
    const env = webShop({ style });
    for (const split of env.tasks.splits) {
      let solved = 0;
      for (let i = 0; i < 100; i++) {
        const { scores, turns } = await playEpisode(env, await env.tasks.at(split, i), "expert");
        if (scores.agent.success) solved++;
        expect(turns.length).toBeLessThanOrEqual(9);
        if (style === "compact") expect(Math.max(...turns.map(({ text }) => text.length))).toBeLessThan(64);
      }
      expect(solved).toBeGreaterThanOrEqual(98);
    }
  });

  test("every listed action does something", async () => {
    const env = webShop({ style, turns: 30 });
    const rng = createRng(7);
    for (let i = 0; i < 20; i++) {
      const episode = new Episode(env, await env.tasks.at("train", i), { signal: new AbortController().signal });
      let next = await episode.start();
      while ("role" in next) {
        const texts = episode.possibleTexts();
        next = await episode.step(texts[rng.integer(texts.length)]);
        if ("role" in next) expect(episode.turns.at(-1)!.info).toEqual({ isValid: true });
      }
      const { failure } = await episode.finish(next);
      expect(failure).toBeUndefined();
    }
  });

  test("the same words give the same episode, however hostile", async () => {
    const env = webShop({ style });
    const hostile = ["", "\0\uD800", "search[".repeat(9999), `click[${"x".repeat(99_999)}]`, "? ", "?toString", "🀄"];
    const play = async () => playEpisode(env, await env.tasks.at("test", 1), hostile);
    const played = await play();
    expect(played).toEqual(await play());
    expect(played.failure).toBeUndefined();
    expect(played.scores.agent.total).toBe(0);
  });
});
