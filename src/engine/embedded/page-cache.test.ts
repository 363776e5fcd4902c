import { expect, test } from "vitest";
import { createRng } from "../../random.ts";
import { pageTokens } from "./attention-kernel.ts";
import { tiny } from "./model-config.ts";
import { PageCache, pageBytes } from "./page-cache.ts";

const shapes = [
  { heads: 4, keyValueHeads: 4, headWidth: 32 },
  { heads: 6, keyValueHeads: 2, headWidth: 8 },
  { heads: 3, keyValueHeads: 1, headWidth: 16 },
  { heads: 2, keyValueHeads: 1, headWidth: 64 },
  { heads: 2, keyValueHeads: 2, headWidth: 128 },
  { heads: 2, keyValueHeads: 1, headWidth: 4 },
];

/** Softmax attention of one query head over all keys so far, in plain double precision. */
function reference(query: Float32Array, keys: readonly Float32Array[], values: readonly Float32Array[]): number[] {
  const scores = keys.map((key) => key.reduce((sum, k, d) => sum + k * query[d]!, 0) / Math.sqrt(query.length));
  const largest = Math.max(...scores);
  const weights = scores.map((score) => Math.exp(score - largest));
  const total = weights.reduce((a, b) => a + b);
  return Array.from(query, (_, d) => values.reduce((sum, value, t) => sum + weights[t]! * value[d]!, 0) / total);
}

test.each(shapes)("attention over pages is softmax attention: $heads/$keyValueHeads heads of $headWidth", (shape) => {
  const { heads, keyValueHeads, headWidth } = shape;
  const config = tiny({ vocabularySize: 9, width: heads * headWidth, layers: 2, contextLength: 128, ...shape });
  const cache = new PageCache(config, { maxBytes: 2 ** 26, maxRows: 4, stepTokens: 8 });
  const rng = createRng(heads * headWidth);
  const random = (size: number) => Float32Array.from({ length: size }, () => rng.normal() * 2);
  const rows = [3, 0, 17].map((start) => ({
    list: cache.takeList()!,
    pages: [] as number[],
    keys: [] as Float32Array[],
    values: [] as Float32Array[],
    start,
  }));
  for (let step = 0; step < 90; step++) {
    const active = rows.filter((row) => step >= row.start);
    const addresses = active.map((row) => {
      if (row.keys.length % pageTokens === 0) row.pages.push(cache.takePage()!);
      return cache.writeList(row.list, row.pages);
    });
    cache.setTokens({ lists: addresses, positions: active.map((row) => row.keys.length) });
    const queryKeys = random(active.length * (heads + keyValueHeads) * headWidth);
    const values = random(active.length * keyValueHeads * headWidth);
    const stride = (heads + keyValueHeads) * headWidth;
    active.forEach((row, b) => {
      row.keys.push(queryKeys.slice(b * stride + heads * headWidth, (b + 1) * stride));
      row.values.push(values.slice(b * keyValueHeads * headWidth, (b + 1) * keyValueHeads * headWidth));
    });
    const layer = 1;
    const out = cache.attend(layer, queryKeys, values, { count: active.length, written: active.length });
    active.forEach((row, b) => {
      for (let head = 0; head < heads; head++) {
        const shared = Math.floor(head / (heads / keyValueHeads)) * headWidth;
        const part = (all: Float32Array) => all.subarray(shared, shared + headWidth);
        const query = queryKeys.subarray(b * stride + head * headWidth, b * stride + (head + 1) * headWidth);
        const expected = reference(query, row.keys.map(part), row.values.map(part));
        const start = (b * heads + head) * headWidth;
        expected.forEach((value, d) => expect(out[start + d]).toBeCloseTo(value, 4));
      }
    });
  }
});

test("scores far apart neither overflow nor vanish", () => {
  const config = tiny({ vocabularySize: 9, width: 8, headWidth: 8, layers: 1, contextLength: 32 });
  const cache = new PageCache(config, { maxBytes: 2 ** 22, maxRows: 1, stepTokens: 4 });
  const address = cache.writeList(cache.takeList()!, [cache.takePage()!]);
  const out: number[][] = [];
  for (const [position, size] of [300, -300, 299].entries()) {
    cache.setTokens({ lists: [address], positions: [position] });
    const queryKeys = Float32Array.from({ length: 16 }, (_, i) => (i < 8 ? 30 : size));
    out.push([...cache.attend(0, queryKeys, new Float32Array(8).fill(position), { count: 1, written: 1 })]);
  }
  // the second key is hopeless, the third so much smaller than the first that its weight is exp(-85)
  expect(out.map((values) => values[0])).toEqual([0, 0, expect.closeTo(2 * Math.exp(-84.85), 38)]);
});

test("pages are shared, given back and limited", () => {
  const config = tiny({ vocabularySize: 9, width: 8, headWidth: 8, layers: 1, contextLength: 32 });
  const cache = new PageCache(config, { maxBytes: 3 * pageBytes(config), maxRows: 2, stepTokens: 4 });
  const pages = [cache.takePage()!, cache.takePage()!, cache.takePage()!];
  expect(new Set(pages).size).toBe(3);
  expect(cache.takePage()).toBeUndefined();
  cache.share(pages[0]!);
  cache.giveBack(pages[0]!);
  expect(cache.takePage()).toBeUndefined();
  cache.giveBack(pages[0]!);
  expect(cache.takePage()).toBe(pages[0]);
  expect([cache.takeList(), cache.takeList(), cache.takeList()]).toEqual([
    expect.any(Number),
    expect.any(Number),
    undefined,
  ]);
});
