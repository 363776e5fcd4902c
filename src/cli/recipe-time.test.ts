import { expect, test } from "vitest";
import type { ArmRecord } from "../recipe/claim.ts";
import type { Recipe } from "../recipe/recipe.ts";
import { beforehand } from "./recipe-time.ts";

const claim = { statement: "A.", source: "here", measure: "m", want: "more", smallest: 1 } as const;
const recipe: Recipe = {
  ...{ system: "one", title: "One", measures: { m: "m" } },
  claims: [{ ...claim, method: "a", baseline: "b" }],
  run: async () => {},
};
const arm = (seed: number, name: string, seconds: number): ArmRecord => ({
  ...{ seed, arm: name, measures: {}, seconds },
  about: { processor: "AMD EPYC" },
});
const none = { arms: [], wholeSeeds: [] };
const planned = { seeds: 5, firstSeed: 0, jobs: 1, claimed: false, file: "arms.jsonl" };
const shipped = { arms: [arm(0, "a", 60), arm(0, "b", 60), arm(0, "sweep", 60), arm(1, "a", 30)], wholeSeeds: [0, 1] };

test("a first run is told by the records that come with the recipe", () => {
  expect(beforehand(recipe, none, shipped, planned)).toBe(
    "One: 1 published claims, 5 seeds; about 15 minutes without warm starts, by the recipe's records, made on AMD EPYC",
  );
  expect(beforehand(recipe, none, shipped, { ...planned, claimed: true, jobs: 2 })).toContain("about 5 minutes");
});

test("arms of one's own say more than those of another machine", () => {
  const kept = { arms: [arm(0, "a", 600)], wholeSeeds: [0] };
  expect(beforehand(recipe, kept, shipped, planned)).toBe(
    "One: 1 published claims, 5 seeds; 1 arms are kept in arms.jsonl (--again makes them anew); 4 seeds left, about 40 minutes without warm starts",
  );
  expect(beforehand(recipe, { ...kept, wholeSeeds: [0, 1, 2, 3, 4] }, shipped, planned)).toContain("nothing is left");
});

test("without any records nothing is promised", () => {
  expect(beforehand(recipe, none, none, planned)).toContain("how long a seed takes is known when the first has ended");
});

test("with --claimed a seed whose claimed arms are kept is not left to run", () => {
  const kept = { arms: [arm(0, "a", 60), arm(0, "b", 60), arm(1, "a", 60)], wholeSeeds: [] };
  expect(beforehand(recipe, kept, shipped, { ...planned, seeds: 1, claimed: true })).toContain(
    "nothing is left to run",
  );
  expect(beforehand(recipe, kept, shipped, { ...planned, seeds: 2, claimed: true })).toContain("1 seed left");
  expect(beforehand(recipe, kept, shipped, { ...planned, seeds: 1 })).toContain("1 seed left");
});
