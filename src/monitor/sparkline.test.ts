import { expect, test } from "vitest";
import { Curve, sparkline } from "./sparkline.ts";

function curveOf(values: readonly number[]): Curve {
  const curve = new Curve();
  for (const value of values) curve.push(value);
  return curve;
}

test("a curve of few values is the sparkline of them", () => {
  const values = Array.from({ length: 300 }, (_, i) => Math.sin(i / 20));
  expect(curveOf(values).sparkline(60)).toBe(sparkline(values, 60));
  expect(curveOf([1, Number.NaN, 3]).sparkline(10)).toBe(sparkline([1, 3], 10));
});

test("a curve of very many values has their shape, and drawing it again costs no more", () => {
  const values = Array.from({ length: 200_000 }, (_, i) => i);
  const curve = curveOf(values);
  expect(curve.sparkline(16)).toBe("▁▁▂▂▃▃▄▄▅▅▆▆▇▇██");
  expect(curve.last).toBe(199_999);
  const started = performance.now();
  for (let i = 0; i < 100; i++) curve.sparkline(60);
  const curveMs = performance.now() - started;
  const again = performance.now();
  for (let i = 0; i < 100; i++) sparkline(values, 60);
  expect(curveMs).toBeLessThan((performance.now() - again) / 5);
});

test("the last value is as it came", () => {
  expect(curveOf([]).last).toBeUndefined();
  expect(curveOf([1, Number.NaN]).last).toBeNaN();
});
