import { expect, test } from "vitest";
import { createRng } from "../../random.ts";
import { planMicroBatches } from "./micro-batches.ts";

test("every row is computed once, within the limit, by balanced threads", () => {
  const rng = createRng(1);
  for (let round = 0; round < 200; round++) {
    const lengths = Array.from({ length: 1 + rng.integer(80) }, () => 1 + rng.integer(300));
    const threads = 1 + rng.integer(4);
    const plan = planMicroBatches(lengths, { maxTokens: 1024, threads });
    expect(plan.length).toBe(threads);
    const rows = plan.flat().flatMap((batch) => batch.rows);
    expect([...rows].sort((a, b) => a - b)).toEqual(lengths.map((_, row) => row));
    for (const batch of plan.flat()) {
      expect(batch.length).toBe(Math.max(...batch.rows.map((row) => lengths[row]!)));
      if (batch.rows.length > 1) expect(batch.rows.length * batch.length).toBeLessThanOrEqual(1024);
    }
  }
});

test("equal rows are shared out evenly", () => {
  const plan = planMicroBatches(new Array(64).fill(160), { maxTokens: 1024, threads: 2 });
  const work = plan.map((batches) => batches.reduce((sum, batch) => sum + batch.rows.length, 0));
  expect(work).toEqual([32, 32]);
});

test("the plan depends on the lengths alone", () => {
  const lengths = [5, 9, 9, 2, 40, 40];
  expect(planMicroBatches(lengths, { maxTokens: 64, threads: 2 })).toEqual(
    planMicroBatches([...lengths], { maxTokens: 64, threads: 2 }),
  );
});
