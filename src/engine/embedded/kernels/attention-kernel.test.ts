import { expect, test } from "vitest";
import { createRng } from "../../../random.ts";
import { type ModelConfig, tiny } from "../../model/model-config.ts";
import { PageCache } from "../page-cache.ts";
import { pageTokens } from "./attention-layout.ts";
import { compileKernels } from "./compile-kernels.ts";
import { KernelMemory } from "./kernel-memory.ts";
import { kernelShape, offsetInHead } from "./kernel-shape.ts";
import { Kernels } from "./kernels.ts";

const shapes = [
  { heads: 4, keyValueHeads: 4, headWidth: 32 },
  { heads: 6, keyValueHeads: 2, headWidth: 8 },
  { heads: 3, keyValueHeads: 1, headWidth: 16 },
  { heads: 2, keyValueHeads: 1, headWidth: 64 },
  { heads: 2, keyValueHeads: 2, headWidth: 128 },
  { heads: 2, keyValueHeads: 1, headWidth: 4 },
  { heads: 3, keyValueHeads: 3, headWidth: 6 },
  { heads: 2, keyValueHeads: 1, headWidth: 20 },
  { heads: 2, keyValueHeads: 2, headWidth: 48 },
  { heads: 1, keyValueHeads: 1, headWidth: 80 },
];

/** Attention of one layer over pages, with rows of heads side by side, as a model has them. */
function setUp(config: ModelConfig, maxRows: number) {
  const shape = kernelShape(config);
  const memory = new KernelMemory();
  const { module } = compileKernels(config);
  const kernels = new Kernels(shape, { module, memory, stepTokens: 8, logitRows: 8 });
  const cache = new PageCache(shape, memory, { maxBytes: 2 ** 26, maxRows });
  const { headWidth, heads, keyValueHeads } = config;
  const place = (i: number) => Math.floor(i / headWidth) * shape.paddedHeadWidth + offsetInHead(shape, i % headWidth);
  function attend(
    layer: number,
    tokens: { lists: number[]; positions: number[]; rows: Float32Array[] },
  ): Float32Array[] {
    const count = tokens.rows.length;
    memory.integers(kernels.at.pageLists, count).set(tokens.lists);
    memory.integers(kernels.at.positions, count).set(tokens.positions);
    const projected = memory.floats(kernels.at.projected, count * shape.rows.projected);
    tokens.rows.forEach((row, b) => {
      expect(row.length).toBe((heads + 2 * keyValueHeads) * headWidth);
      row.forEach((value, i) => {
        projected[b * shape.rows.projected + place(i)] = value;
      });
    });
    kernels.attend(layer, { count, written: count });
    const out = memory.floats(kernels.at.attended, count * shape.rows.attended);
    return tokens.rows.map((_, b) =>
      Float32Array.from({ length: heads * headWidth }, (_, i) => out[b * shape.rows.attended + place(i)]),
    );
  }
  return { cache, attend };
}

/** Softmax attention of one query head over all keys so far, in plain double precision. */
function reference(query: Float32Array, keys: readonly Float32Array[], values: readonly Float32Array[]): number[] {
  const scores = keys.map((key) => key.reduce((sum, k, d) => sum + k * query[d], 0) / Math.sqrt(query.length));
  const largest = Math.max(...scores);
  const weights = scores.map((score) => Math.exp(score - largest));
  const total = weights.reduce((a, b) => a + b);
  return Array.from(query, (_, d) => values.reduce((sum, value, t) => sum + weights[t] * value[d], 0) / total);
}

test.each(shapes)("attention over pages is softmax attention: $heads/$keyValueHeads heads of $headWidth", (shape) => {
  const { heads, keyValueHeads, headWidth } = shape;
  const config = tiny({ vocabularySize: 9, width: heads * headWidth, layers: 2, contextLength: 128, ...shape });
  const { cache, attend } = setUp(config, 4);
  const rng = createRng(heads * headWidth);
  const rows = [3, 0, 17].map((start) => ({
    list: cache.takeList()!,
    pages: [] as number[],
    keys: [] as Float32Array[],
    values: [] as Float32Array[],
    start,
  }));
  for (let step = 0; step < 90; step++) {
    const active = rows.filter((row) => step >= row.start);
    const lists = active.map((row) => {
      if (row.keys.length % pageTokens === 0) row.pages.push(cache.takePage()!);
      return cache.writeList(row.list, row.pages);
    });
    const positions = active.map((row) => row.keys.length);
    const [queries, keys] = [heads * headWidth, keyValueHeads * headWidth];
    const projected = active.map(() => Float32Array.from({ length: queries + 2 * keys }, () => rng.normal() * 2));
    active.forEach((row, b) => {
      row.keys.push(projected[b].slice(queries, queries + keys));
      row.values.push(projected[b].slice(queries + keys));
    });
    const out = attend(1, { lists, positions, rows: projected });
    active.forEach((row, b) => {
      for (let head = 0; head < heads; head++) {
        const shared = Math.floor(head / (heads / keyValueHeads)) * headWidth;
        const part = (all: Float32Array) => all.subarray(shared, shared + headWidth);
        const query = projected[b].subarray(head * headWidth, (head + 1) * headWidth);
        const expected = reference(query, row.keys.map(part), row.values.map(part));
        expected.forEach((value, d) => expect(out[b][head * headWidth + d]).toBeCloseTo(value, 4));
      }
    });
  }
});

test.each(shapes)(
  "tokens of a prompt have the same bits together and one by one: $heads/$keyValueHeads of $headWidth",
  (shape) => {
    const { heads, keyValueHeads, headWidth } = shape;
    const config = tiny({ vocabularySize: 9, width: heads * headWidth, layers: 1, contextLength: 512, ...shape });
    const { cache, attend } = setUp(config, 2);
    const rng = createRng(headWidth);
    const [together, alone] = [0, 1].map(() => {
      const pages = [cache.takePage()!, cache.takePage()!];
      return cache.writeList(cache.takeList()!, pages);
    }) as [number, number];
    // steps of up to eight tokens, which cross blocks of 16 and a page
    for (let position = 0; position < 300; ) {
      const count = Math.min(1 + rng.integer(8), 300 - position);
      const size = (heads + 2 * keyValueHeads) * headWidth;
      const rows = Array.from({ length: count }, () => Float32Array.from({ length: size }, () => rng.normal()));
      const positions = rows.map((_, i) => position + i);
      const results = attend(0, { lists: rows.map(() => together), positions, rows });
      rows.forEach((row, i) => {
        const [result] = attend(0, { lists: [alone], positions: [positions[i]], rows: [row] });
        expect(result).toEqual(results[i]);
      });
      position += count;
    }
  },
);

test("scores far apart neither overflow nor vanish", () => {
  const config = tiny({ vocabularySize: 9, width: 8, headWidth: 8, layers: 1, contextLength: 32 });
  const { cache, attend } = setUp(config, 1);
  const list = cache.writeList(cache.takeList()!, [cache.takePage()!]);
  const out = [300, -300, 299].map((size, position) => {
    const row = Float32Array.from({ length: 24 }, (_, i) => [30, size, position][Math.floor(i / 8)]);
    return attend(0, { lists: [list], positions: [position], rows: [row] })[0][0];
  });
  // the second key is hopeless, the third so much smaller than the first that its weight is exp(-85)
  expect(out).toEqual([0, 0, expect.closeTo(2 * Math.exp(-84.85), 38)]);
});
