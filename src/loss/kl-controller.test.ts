import { expect, test } from "vitest";
import { adaptiveKl, fixedKl } from "./kl-controller.ts";

test("a fixed coefficient stays", () => {
  const controller = fixedKl(0.01);
  expect(controller.initial).toBe(0.01);
  expect(controller.next(0.01, 100, 1000)).toBe(0.01);
});

test("an adaptive one follows the divergence, by a fifth of the error's share at most", () => {
  const { initial, next } = adaptiveKl({ initial: 0.1, target: 6, horizon: 1000 });
  expect(next(initial, 6.6, 100)).toBeCloseTo(0.1 * (1 + 0.1 * 0.1), 12);
  expect(next(initial, 60, 100)).toBeCloseTo(0.102, 12);
  expect(next(initial, 0, 1000)).toBeCloseTo(0.08, 12);
  expect(next(initial, 6, 1000)).toBeCloseTo(0.1, 12);
});

test("it remembers nothing: two runs with one controller do not disturb each other", () => {
  const { next } = adaptiveKl({ initial: 0.1, target: 6, horizon: 1000 });
  const first = next(0.1, 60, 100);
  next(0.5, 0, 100);
  expect(next(0.1, 60, 100)).toBe(first);
});

test("a target of 0 is refused", () => {
  expect(() => adaptiveKl({ initial: 0.1, target: 0, horizon: 1 })).toThrow(
    "bad-loss-option: got initial 0.1, target 0",
  );
});

test("so is a horizon of 0", () => {
  expect(() => adaptiveKl({ initial: 0.1, target: 1, horizon: 0 })).toThrow(
    "bad-loss-option: got initial 0.1, target 1, horizon 0",
  );
});
