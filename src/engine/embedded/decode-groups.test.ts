import { expect, test } from "vitest";
import { DecodeGroups } from "./decode-groups.ts";

const make = (count: number, bytes: number) => Array.from({ length: count }, () => ({ bytes }));

test("rows whose KV cache fits are decoded at every step", () => {
  const groups = new DecodeGroups<{ bytes: number }>(1000, ({ bytes }) => bytes);
  const rows = make(10, 100);
  for (let step = 0; step < 100; step++) expect(new Set(groups.next(rows))).toEqual(new Set(rows));
});

test("rows that do not fit are decoded in groups, and each gets its share of the steps", () => {
  const groups = new DecodeGroups<{ bytes: number }>(1000, ({ bytes }) => bytes);
  const rows = make(35, 100);
  const steps = new Map(rows.map((row) => [row, 0]));
  let changes = 0;
  let last = new Set<object>();
  for (let step = 0; step < 70 * 32; step++) {
    const chosen = new Set(groups.next(rows));
    expect(chosen.size).toBe(10);
    if ([...chosen].some((row) => !last.has(row))) changes++;
    last = chosen;
    for (const row of chosen) steps.set(row, steps.get(row)! + 1);
  }
  expect(changes).toBe(70);
  // ten of 35 rows a group: each row is in two of seven groups
  for (const count of steps.values()) expect(Math.abs(count / 32 - 20)).toBeLessThanOrEqual(1);
});

test("rows that end are replaced at once", () => {
  const groups = new DecodeGroups<{ bytes: number }>(1000, ({ bytes }) => bytes);
  const rows = make(20, 100);
  const first = groups.next(rows);
  const left = rows.filter((row) => !first.slice(0, 4).includes(row));
  const second = groups.next(left);
  expect(second.length).toBe(10);
  expect(first.slice(4).every((row) => second.includes(row))).toBe(true);
});

test("a row that does not fit is a group of its own", () => {
  const groups = new DecodeGroups<{ bytes: number }>(1000, ({ bytes }) => bytes);
  const rows = make(20, 5000);
  const first = groups.next(rows);
  expect(first.length).toBe(1);
  for (let step = 1; step < 32; step++) expect(groups.next(rows)).toEqual(first);
  const second = groups.next(rows);
  expect(second.length).toBe(1);
  expect(second[0]).not.toBe(first[0]);
});

test("rows that arrive join a group that has room", () => {
  const groups = new DecodeGroups<{ bytes: number }>(1000, ({ bytes }) => bytes);
  const rows = make(4, 100);
  expect(groups.next(rows).length).toBe(4);
  expect(groups.next([...rows, ...make(20, 100)]).length).toBe(10);
});
