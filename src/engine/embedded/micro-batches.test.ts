import { describe, expect, test } from "vitest";
import { createRng, type Rng } from "../../random.ts";
import { type MicroBatch, type PlannedRow, packingPays, planMicroBatches } from "./micro-batches.ts";

/** A row of which so many tokens are read: a prompt that is given, and the rest sampled. */
function rowOf(rng: Rng, prompt: readonly number[], length: number): PlannedRow {
  const sampled = Array.from({ length: length + 1 - prompt.length }, () => rng.integer(50));
  const wanted = Int32Array.from(sampled, (_, i) => prompt.length + i);
  return { tokens: Int32Array.from([...prompt, ...sampled]), wanted };
}

const promptOf = (rng: Rng, length: number) => Array.from({ length }, () => rng.integer(50));
/** Rows that have nothing in common, of so many tokens that are read. */
const strangers = (rng: Rng, lengths: readonly number[]) =>
  lengths.map((length) => rowOf(rng, promptOf(rng, 1), length));
const groupOf = (rng: Rng, size: number, prompt: number, length: number) => {
  const shared = promptOf(rng, prompt);
  return Array.from({ length: size }, () => rowOf(rng, shared, length));
};

const lengthOf = ({ wanted }: PlannedRow) => wanted.at(-1)!;
const paddedWork = (batches: readonly MicroBatch[]) =>
  batches.reduce((sum, { sharedPrefix, rows, length }) => sum + sharedPrefix + rows.length * length, 0);

/** What every plan must keep to. */
function checkPlan(rows: readonly PlannedRow[], plan: readonly (readonly MicroBatch[])[], maxTokens: number): void {
  const planned = plan.flat().flatMap((batch) => batch.rows);
  expect(planned.toSorted((a, b) => a - b)).toEqual(rows.map((_, row) => row));
  for (const batch of plan.flat()) {
    const members = batch.rows.map((row) => rows[row]);
    expect(batch.length).toBe(Math.max(...members.map(lengthOf)) - batch.sharedPrefix);
    expect(Math.min(...members.map(lengthOf))).toBeGreaterThan(batch.sharedPrefix);
    expect(batch.tokens).toBe(members.reduce((sum, member) => sum + lengthOf(member) - batch.sharedPrefix, 0));
    const prefixes = members.map(({ tokens }) => tokens.subarray(0, batch.sharedPrefix).join());
    expect(new Set(prefixes).size).toBe(1);
    if (members.length > 1) expect(paddedWork([batch])).toBeLessThanOrEqual(maxTokens);
  }
}

test("every row is computed once, within the limit, whatever the rows share", () => {
  const rng = createRng(1);
  for (let round = 0; round < 200; round++) {
    const threads = 1 + rng.integer(4);
    const alone = strangers(
      rng,
      Array.from({ length: rng.integer(40) }, () => 1 + rng.integer(300)),
    );
    const groups = Array.from({ length: rng.integer(5) }, () => {
      const prompt = promptOf(rng, 1 + rng.integer(200));
      return Array.from({ length: 1 + rng.integer(9) }, () => rowOf(rng, prompt, prompt.length + rng.integer(100)));
    });
    const rows = [...alone, ...groups.flat()];
    if (rows.length === 0) continue;
    const plan = planMicroBatches(rows, { maxTokens: 1024, threads });
    expect(plan.length).toBe(threads);
    checkPlan(rows, plan, 1024);
  }
});

test("equal rows are shared out evenly", () => {
  const rows = strangers(createRng(2), new Array(64).fill(160));
  const plan = planMicroBatches(rows, { maxTokens: 1024, threads: 2 });
  const work = plan.map((batches) => batches.reduce((sum, batch) => sum + batch.rows.length, 0));
  expect(work).toEqual([32, 32]);
});

describe("the prompt of a group", () => {
  const options = { maxTokens: 1024, threads: 2 };

  test("is computed once where that saves work", () => {
    const rng = createRng(3);
    const rows = Array.from({ length: 8 }, () => groupOf(rng, 8, 32, 150)).flat();
    const plan = planMicroBatches(rows, options);
    expect(plan.map((batches) => batches.length)).toEqual([4, 4]);
    for (const batch of plan.flat()) expect(batch.sharedPrefix).toBeGreaterThanOrEqual(32);
    expect(paddedWork(plan.flat())).toBeLessThan(0.85 * 64 * 150);
  });

  test("is computed again by each thread rather than have one of them wait", () => {
    const rows = groupOf(createRng(4), 8, 32, 150);
    const plan = planMicroBatches(rows, options);
    expect(plan.map((batches) => batches.flatMap((batch) => batch.rows).length)).toEqual([4, 4]);
  });

  test("is not looked at where there is next to none", () => {
    const rows = Array.from({ length: 8 }, () => groupOf(createRng(5), 8, 4, 150)).flat();
    const prefixes = planMicroBatches(rows, options).flatMap((batches) =>
      batches.map(({ sharedPrefix }) => sharedPrefix),
    );
    expect(new Set(prefixes)).toEqual(new Set([0]));
  });
});

test("rows of a group stay together though they end at different lengths", () => {
  const rng = createRng(8);
  const rows = Array.from({ length: 8 }, () => {
    const prompt = promptOf(rng, 100);
    return Array.from({ length: 8 }, (_, i) => rowOf(rng, prompt, 120 + 15 * i));
  }).flat();
  const plan = planMicroBatches(rows, { maxTokens: 1152, threads: 2 });
  for (const batch of plan.flat()) expect(batch.sharedPrefix).toBeGreaterThanOrEqual(100);
  // padded, they would be a quarter more
  const batches = plan
    .flat()
    .filter(({ rows: members, length, tokens }) => packingPays(tokens, members.length * length));
  expect(batches.length).toBeGreaterThan(0);
});

test("the plan depends on the rows alone", () => {
  const make = () => [...strangers(createRng(6), [5, 9, 9, 2, 40, 40]), ...groupOf(createRng(7), 4, 20, 30)];
  expect(planMicroBatches(make(), { maxTokens: 64, threads: 2 })).toEqual(
    planMicroBatches(make(), { maxTokens: 64, threads: 2 }),
  );
});
