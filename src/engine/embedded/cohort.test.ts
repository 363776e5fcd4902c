import { expect, test } from "vitest";
import { Cohort } from "./cohort.ts";

const make = (count: number, bytes: number) => Array.from({ length: count }, () => ({ bytes }));

test("rows that fit into the cache all go on", () => {
  const cohort = new Cohort<{ bytes: number }>(1000, ({ bytes }) => bytes);
  const rows = make(10, 100);
  for (let step = 0; step < 100; step++) expect(new Set(cohort.next(rows))).toEqual(new Set(rows));
});

test("rows that do not fit take turns, and none is left behind", () => {
  const cohort = new Cohort<{ bytes: number }>(1000, ({ bytes }) => bytes);
  const rows = make(35, 100);
  const steps = new Map(rows.map((row) => [row, 0]));
  let changes = 0;
  let last = new Set<object>();
  for (let step = 0; step < 70 * 32; step++) {
    const chosen = new Set(cohort.next(rows));
    expect(chosen.size).toBe(10);
    if ([...chosen].some((row) => !last.has(row))) changes++;
    last = chosen;
    for (const row of chosen) steps.set(row, steps.get(row)! + 1);
  }
  expect(changes).toBe(70);
  // each is due in every second round of seven
  for (const count of steps.values()) expect(Math.abs(count / 32 - 20)).toBeLessThanOrEqual(1);
});

test("rows that end make room at once", () => {
  const cohort = new Cohort<{ bytes: number }>(1000, ({ bytes }) => bytes);
  const rows = make(20, 100);
  const first = cohort.next(rows);
  const left = rows.filter((row) => !first.slice(0, 4).includes(row));
  const second = cohort.next(left);
  expect(second.length).toBe(10);
  expect(first.slice(4).every((row) => second.includes(row))).toBe(true);
});

test("however large they are, two rows go on, or as many as there are", () => {
  const cohort = new Cohort<{ bytes: number }>(1000, ({ bytes }) => bytes);
  expect(cohort.next(make(20, 5000)).length).toBe(2);
  expect(new Cohort<{ bytes: number }>(1000, ({ bytes }) => bytes).next(make(1, 5000)).length).toBe(1);
});
