import { expect, test } from "vitest";
import { createRng } from "../../random.ts";
import { learnRow } from "../fixtures/learn-row.ts";
import { splitRows } from "./update.ts";

const rows = Array.from({ length: 10 }, (_, i) => learnRow({ id: `${i}`, tokens_T: Int32Array.of(1, 2) }));

test("every row is in one part, parts are about equal, and as many as were asked for", () => {
  for (const parts of [1, 2, 3, 4, 7, 10]) {
    const split = splitRows(rows, parts, createRng(1));
    expect(split).toHaveLength(parts);
    expect(
      split
        .flat()
        .map(({ id }) => id)
        .sort(),
    ).toEqual(rows.map(({ id }) => id));
    const sizes = split.map(({ length }) => length);
    expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
  }
  expect(splitRows(rows, 20, createRng(1))).toHaveLength(10);
});

test("rows of a rollout and of a pair stay together", () => {
  const rollouts = rows.map((row, i) => ({ ...row, rollout: `${i >> 1}` }));
  for (const part of splitRows(rollouts, 5, createRng(2))) expect(new Set(part.map((row) => row.rollout)).size).toBe(1);
  const pairs = rows.map((row, i) => ({ ...row, preference: { pair: i >> 1, chosen: i % 2 === 0 } }));
  for (const part of splitRows(pairs, 5, createRng(2)))
    expect(new Set(part.map((row) => row.preference.pair)).size).toBe(1);
});
