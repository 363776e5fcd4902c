import { expect, test } from "vitest";
import { createRng, uniformAt } from "./random.ts";

test("the same seed gives the same stream, another seed another", () => {
  const stream = (seed: number) => {
    const rng = createRng(seed);
    return Array.from({ length: 5 }, () => rng.next());
  };
  expect(stream(7)).toEqual(stream(7));
  expect(stream(7)).not.toEqual(stream(8));
  expect(stream(7)).not.toEqual(stream(7 + 2 ** 32));
});

test("numbers are uniform, and neighbours in seed or index unrelated", () => {
  const buckets = new Array<number>(16).fill(0);
  const correlate = { seed: 0, index: 0 };
  const count = 40_000;
  for (let i = 0; i < count; i++) {
    const value = uniformAt(i % 200, Math.floor(i / 200));
    buckets[Math.floor(value * 16)]++;
    correlate.seed += (value - 0.5) * (uniformAt((i % 200) + 1, Math.floor(i / 200)) - 0.5);
    correlate.index += (value - 0.5) * (uniformAt(i % 200, Math.floor(i / 200) + 1) - 0.5);
  }
  const chiSquared = buckets.reduce((sum, observed) => sum + (observed - count / 16) ** 2 / (count / 16), 0);
  expect(chiSquared).toBeLessThan(37.7); // 0.1 % of 15 degrees of freedom
  const deviation = Math.sqrt(count) / 12;
  expect(Math.abs(correlate.seed)).toBeLessThan(4 * deviation);
  expect(Math.abs(correlate.index)).toBeLessThan(4 * deviation);
});

test("normal numbers have mean 0 and variance 1", () => {
  const rng = createRng(1);
  const values = Array.from({ length: 20_000 }, () => rng.normal());
  const mean = values.reduce((a, b) => a + b) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
  expect(Math.abs(mean)).toBeLessThan(0.03);
  expect(Math.abs(variance - 1)).toBeLessThan(0.05);
});
