import type { Rng } from "../../random.ts";

/** One of the items, each as likely. */
export function pick<Item>(rng: Rng, items: readonly Item[]): Item {
  return items[rng.integer(items.length)];
}

/** `count` of the items in random order, each at most once; all of them where there are no more. */
export function draw<Item>(rng: Rng, items: readonly Item[], count = items.length): Item[] {
  const left = [...items];
  return Array.from({ length: Math.min(count, items.length) }, () => left.splice(rng.integer(left.length), 1)[0]);
}
