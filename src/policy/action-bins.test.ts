import { describe, expect, test } from "vitest";
import { actionBins, actionTokenizer } from "./action-bins.ts";

/** 0 to 100 in the first dimension, with one outlier; the same, mirrored, in the second. */
const plain = Array.from({ length: 101 }, (_, i) => [i, -i]);
const demonstrated = [...plain, [10_000, -10_000]];

test("bins lie between the 1st and the 99th percentile, or between extremes", () => {
  // rank 0.01 * 101 = 1.01 of 0, 1, 2, …; rank 99.99 of them
  const [first, second] = actionBins(demonstrated).bounds;
  expect(first[0]).toBeCloseTo(1.01, 9);
  expect(first[1]).toBeCloseTo(99.99, 9);
  expect(second[0]).toBeCloseTo(-99.99, 9);
  expect(actionBins(demonstrated, { range: "extremes" }).bounds[0]).toEqual([0, 10_000]);
});

test("what is written is read again to half a bin, and what is beyond as the outermost bin", () => {
  const bins = actionBins(plain);
  const [[from, to]] = bins.bounds;
  for (const value of [1.5, 33.3, 50, 98.7]) {
    const [x, y] = bins.read(bins.write([value, -value]))!;
    expect(Math.abs(x - value)).toBeLessThanOrEqual((to - from) / 512 + 1e-9);
    expect(Math.abs(y + value)).toBeLessThanOrEqual((to - from) / 512 + 1e-9);
  }
  expect(bins.write([1e9, 1e9])).toBe(bins.write([to, 0]));
  expect(bins.write([-1e9, -1e9])).toBe(bins.write([from, -100]));
});

test("few bins are coarse", () => {
  const bins = actionBins(plain, { bins: 2 });
  expect(new Set(plain.map((action) => bins.write(action)[0])).size).toBe(2);
  expect(bins.read(bins.write([2, -2]))![0]).toBeCloseTo(25.5, 9);
});

test.each(["", "a", "ab", "Āa", "ĀĀĀ", "\u{1f600}\u{1f600}"])("%j is no action", (text) => {
  expect(actionBins(plain, { bins: 8 }).read(text)).toBeUndefined();
});

test("a bin that these bins do not have is no action", () => {
  const ninth = actionBins(plain).write([100, 0]);
  expect(actionBins(plain, { bins: 8 }).read(ninth)).toBeUndefined();
});

describe("refuses", () => {
  test.each([
    ["no actions", []],
    ["actions of no numbers", [[]]],
    ["actions of different lengths", [[1, 2], [1]]],
    ["what is not finite", [[1], [Number.NaN]]],
    [
      "a dimension of one value",
      [
        [1, 2],
        [1, 3],
      ],
    ],
  ])("%s", (_, actions) => {
    expect(() => actionBins(actions)).toThrow("bad-option");
  });

  test.each([{ bins: 1 }, { bins: 257 }, { bins: 2.5 }, { range: "minmax" }, { bin: 8 }])("%j", (options) => {
    expect(() => actionBins(plain, options as object)).toThrow();
  });

  test("to write something else", () => {
    expect(() => actionBins(plain).write([1])).toThrow("bad-action");
    expect(() => actionBins(plain).write([1, Number.NaN])).toThrow("bad-action");
  });
});

test("the tokenizer has a token for each bin, and they do not join", () => {
  const [bins, tokenizer] = [actionBins(plain), actionTokenizer()];
  const seen = new Set<number>();
  for (const action of plain) {
    const text = bins.write(action);
    const tokens = tokenizer.encode(text);
    expect(tokens).toHaveLength(2);
    expect(tokenizer.decode(tokens)).toBe(text);
    for (const token of tokens) seen.add(token);
  }
  expect(Math.min(...seen)).toBeGreaterThanOrEqual(256);
  expect(tokenizer.encode("ok")).toHaveLength(2);
});
