import { describe, expect, test } from "vitest";
import { compare, type Outcome } from "./experiment.ts";
import { experiments } from "./experiments.ts";
import { keep, meanOf } from "./report.ts";

const seeds = [0, 1, 2, 3, 4];
const hour = 3_600_000;

describe("agents learn from scratch, five seeds each", () => {
  test.each(Object.keys(experiments))("%s", { timeout: hour }, async (name) => {
    const experiment = experiments[name];
    const outcomes = new Map<string, Outcome[]>();
    for (const seed of seeds) {
      for (const [variant, outcome] of await compare(experiment, seed)) {
        outcomes.set(variant, [...(outcomes.get(variant) ?? []), outcome]);
      }
    }
    keep(experiment, outcomes);
    const [first] = outcomes.values();
    const { after = 0, gain = 0 } = experiment.atLeast;
    expect(meanOf(first, "after")).toBeGreaterThanOrEqual(after);
    expect(meanOf(first, "after") - meanOf(first, "before")).toBeGreaterThanOrEqual(gain);
  });
});
