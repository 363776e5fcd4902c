import { expect, test } from "vitest";
import { linearLengthPenalty, sigmoidLengthPenalty, softOverlongPenalty } from "./length-penalty.ts";

test("linear: only what is over the target costs", () => {
  expect(linearLengthPenalty(1, 3, { target: 5, weight: 0.1 })).toBe(1);
  expect(linearLengthPenalty(1, 8, { target: 5, weight: 0.1 })).toBeCloseTo(0.7, 12);
});

test("sigmoid: half at the target, nothing far beyond", () => {
  const options = { target: 5, temperature: 2 };
  expect(sigmoidLengthPenalty(1, 5, options)).toBe(0.5);
  expect(sigmoidLengthPenalty(2, 7, options)).toBeCloseTo(2 / (1 + Math.E), 12);
  expect(sigmoidLengthPenalty(1, 1e6, options)).toBe(0);
});

test("DAPO's golden numbers", () => {
  expect(softOverlongPenalty(16384)).toBe(0);
  expect(softOverlongPenalty(17000)).toBeCloseTo(-0.150391, 6);
  expect(softOverlongPenalty(18432)).toBe(-0.5);
  expect(softOverlongPenalty(20480)).toBe(-1);
  expect(softOverlongPenalty(21000)).toBe(-1);
  expect(softOverlongPenalty(21000, { floor: false })).toBeCloseTo(-1.126953, 6);
});
