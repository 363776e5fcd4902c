import { expect, test } from "vitest";
import { LudusError } from "../errors.ts";
import { createComposite } from "./composite.ts";

test("the total is the sum of the parts", () => {
  const { score, warnings } = createComposite({
    weights: { outcome: 1, format: 0.2, toolEfficiency: 0.1, length: -0.05 },
  });
  const { total, parts } = score({ outcome: 1, format: 1, toolEfficiency: 0, length: 1 });
  expect(total).toBeCloseTo(1.15, 12);
  expect(parts).toEqual({ outcome: 1, format: 0.2, toolEfficiency: 0, length: -0.05 });
  expect(warnings).toEqual([]);
});

test("an outcome below half of what can be had is warned of", () => {
  const warningsOf = (format: number) => createComposite({ weights: { outcome: 1, format } }).warnings;
  expect(warningsOf(1)).toEqual([]);
  expect(warningsOf(1.1)).toEqual([expect.stringContaining('"outcome" makes up 48 %')]);
  expect(createComposite({ weights: { outcome: 1, format: 0.5 }, ranges: { format: [-2, 2] } }).warnings).toHaveLength(
    1,
  );
  expect(createComposite({ weights: { solved: 0 }, outcome: "solved" }).warnings).toHaveLength(1);
});

test("parts must be those that were declared, and in range", () => {
  expect(() => createComposite({ weights: { format: 1 } })).toThrow(LudusError);
  expect(() => createComposite({ weights: { outcome: 1 }, ranges: { other: [0, 1] } })).toThrow(LudusError);
  const { score } = createComposite({ weights: { outcome: 1 }, ranges: { outcome: [-1, 1] } });
  expect(score({ outcome: -1 }).total).toBe(-1);
  expect(() => score({ outcome: 2 })).toThrow("outcome = 2");
  expect(() => score({})).toThrow(LudusError);
  expect(() => score({ outcome: 1, other: 1 })).toThrow('"other"');
});
