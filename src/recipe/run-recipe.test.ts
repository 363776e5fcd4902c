import { expect, test } from "vitest";
import type { Recipe } from "./recipe.ts";
import { comparisonText, resultTable, shortResult } from "./recipe-result.ts";
import { runRecipe } from "./run-recipe.ts";

// what a seed "measures" is its number
const counting: Recipe = {
  system: "counting",
  title: "Counting",
  claim: "more is more",
  measures: { score: "score", only: "only" },
  compare: [
    { method: "more", baseline: "less", measure: "score", want: "more" },
    { method: "more", baseline: "less", measure: "score", want: "less" },
  ],
  async run(lab) {
    lab.measure("less", { score: lab.seed / 100 });
    lab.measure("more", { score: 1 + lab.seed / 100, only: 7 });
    lab.curve("more", "reward", [0, lab.seed]);
  },
};

test("every seed is measured, and a claim holds where intervals are apart", async () => {
  const result = await runRecipe(counting, { seeds: 3, firstSeed: 5 });
  expect(result.trials.map(({ seed }) => seed)).toEqual([5, 6, 7]);
  expect(result.holds).toBe(true);
  expect(result.comparisons.map(({ holds }) => holds)).toEqual([true, false]);
  expect(result.trials[0].curves).toEqual({ more: { reward: [0, 5] } });
  const short = shortResult(result);
  expect(short).toMatchObject({ system: "counting", holds: true, seeds: 3, method: { name: "more", mean: 1.06 } });
  // Student's t for two degrees of freedom: 4.303 * 0.01 / sqrt(3)
  expect(short.method.low).toBeCloseTo(1.06 - 0.02484, 3);
  expect(resultTable(result)).toEqual([
    ["", "score", "only"],
    ["less", "0.06 [0.04, 0.08]", ""],
    ["more", "1.06 [1.04, 1.08]", "7.00 [7.00, 7.00]"],
  ]);
  expect(comparisonText(result.comparisons[1])).toBe(
    "more 1.06 against less 0.06 (score, less): does not hold; within seeds 1.00 [1.00, 1.00]",
  );
});

test("one seed proves nothing", async () => {
  const result = await runRecipe(counting, { seeds: 1 });
  expect(result.holds).toBe(false);
  expect(JSON.parse(JSON.stringify(shortResult(result))).method.low).toBeNull();
});

test("no seed is begun that would end after the budget", async () => {
  const slow: Recipe = {
    ...counting,
    run: async (lab) => {
      await counting.run(lab);
      await new Promise((done) => setTimeout(done, 30));
    },
  };
  const { trials } = await runRecipe(slow, { seeds: 50, budgetSeconds: 0.1 });
  expect(trials.length).toBeGreaterThanOrEqual(1);
  expect(trials.length).toBeLessThan(5);
});

test("a comparison of what was not measured is named", async () => {
  const wrong: Recipe = {
    ...counting,
    compare: [{ method: "more", baseline: "fewer", measure: "score", want: "more" }],
  };
  await expect(runRecipe(wrong, { seeds: 1 })).rejects.toThrow("score of fewer for 0 of 1 seeds");
});
