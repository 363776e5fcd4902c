import { expect, test } from "vitest";
import { adaptiveKl, fixedKl } from "./kl-controller.ts";

test("a fixed coefficient stays", () => {
  const controller = fixedKl(0.01);
  controller.update(100, 1000);
  expect(controller.coefficient).toBe(0.01);
});

test("an adaptive one follows the divergence, a fifth of the way at most", () => {
  const controller = adaptiveKl({ initial: 0.1, target: 6, horizon: 1000 });
  controller.update(6.6, 100);
  expect(controller.coefficient).toBeCloseTo(0.1 * (1 + 0.1 * 0.1), 12);
  controller.restore(0.1);
  controller.update(60, 100);
  expect(controller.coefficient).toBeCloseTo(0.102, 12);
  controller.restore(0.1);
  controller.update(0, 1000);
  expect(controller.coefficient).toBeCloseTo(0.08, 12);
  controller.restore(0.1);
  controller.update(6, 1000);
  expect(controller.coefficient).toBeCloseTo(0.1, 12);
});

test("a target of 0 is refused", () => {
  expect(() => adaptiveKl({ initial: 0.1, target: 0, horizon: 1 })).toThrow("bad-loss-option: got target 0");
});

test("so is a horizon of 0", () => {
  expect(() => adaptiveKl({ initial: 0.1, target: 1, horizon: 0 })).toThrow("bad-loss-option: got target 1, horizon 0");
});

test("both continue from the coefficient that is restored", () => {
  for (const controller of [fixedKl(0.1), adaptiveKl({ initial: 0.1, target: 1, horizon: 1 })]) {
    controller.restore(0.7);
    expect(controller.coefficient).toBe(0.7);
  }
});
