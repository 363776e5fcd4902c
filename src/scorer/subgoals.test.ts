import { expect, test } from "vitest";
import { createRng } from "../random.ts";
import { firstVisitBonuses, potentialShaping } from "./subgoals.ts";

const sets = (...turns: string[][]) => turns.map((goals) => new Set(goals));

test("a goal pays once, however often it is reached", () => {
  expect(firstVisitBonuses(sets(["key"], [], ["key"], ["key", "door"]), 0.5)).toEqual([0.5, 0, 0, 0.5]);
  expect(firstVisitBonuses(sets(["key", "door"], ["other"]), { key: 1, door: 2 })).toEqual([3, 0]);
  expect(firstVisitBonuses([], 1)).toEqual([]);
});

test("going back and forth gains nothing", () => {
  const potential = (goals: ReadonlySet<string>) => goals.size;
  const shaped = potentialShaping(sets(["key"], [], ["key"], []), { potential, end: "keep" });
  expect(shaped).toEqual([1, -1, 1, -1]);
});

test("the discounted sum telescopes", () => {
  const rng = createRng(21);
  const potential = (goals: ReadonlySet<string>) => 2 * goals.size + 0.5;
  for (let count = 0; count < 50; count++) {
    const gamma = rng.next();
    const achieved_T = Array.from({ length: 1 + rng.integer(8) }, () => {
      return new Set(["a", "b", "c"].filter(() => rng.next() < 0.5));
    });
    const total = (shaped: number[]) => shaped.reduce((sum, value, turn) => sum + gamma ** turn * value, 0);
    const last = potential(achieved_T.at(-1)!);
    const kept = total(potentialShaping(achieved_T, { potential, gamma, end: "keep" }));
    expect(kept).toBeCloseTo(gamma ** achieved_T.length * last - 0.5, 9);
    expect(total(potentialShaping(achieved_T, { potential, gamma }))).toBeCloseTo(-0.5, 9);
  }
});
