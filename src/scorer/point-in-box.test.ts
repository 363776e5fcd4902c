import { expect, test } from "vitest";
import { isPointInBox } from "./point-in-box.ts";

test("edges count", () => {
  const box = [10, 20, 30, 40] as const;
  expect([isPointInBox([10, 20], box), isPointInBox([30, 40], box), isPointInBox([20, 30], box)]).toEqual([
    true,
    true,
    true,
  ]);
  expect([isPointInBox([9, 30], box), isPointInBox([20, 41], box)]).toEqual([false, false]);
});
