import { expect, test } from "vitest";
import { createRng } from "../../random.ts";
import { draw, pick } from "./draw.ts";

const items = ["a", "b", "c", "d"];

test("every item is picked about as often", () => {
  const rng = createRng(1);
  const counts = new Map(items.map((item) => [item, 0]));
  for (let i = 0; i < 4000; i++) {
    const item = pick(rng, items);
    counts.set(item, counts.get(item)! + 1);
  }
  for (const count of counts.values()) expect(Math.abs(count - 1000)).toBeLessThan(120);
});

test("no item is drawn twice, and the items stay as they are", () => {
  for (let seed = 0; seed < 50; seed++) {
    const drawn = draw(createRng(seed), items, 3);
    expect(new Set(drawn).size).toBe(3);
    expect(drawn).toEqual(draw(createRng(seed), items, 3));
  }
  expect(items).toEqual(["a", "b", "c", "d"]);
});

test("without a count, or with one that is too large, all are drawn", () => {
  expect(draw(createRng(2), items).toSorted()).toEqual(items);
  expect(draw(createRng(2), items, 9)).toEqual(draw(createRng(2), items));
  expect(draw(createRng(2), [], 3)).toEqual([]);
});
