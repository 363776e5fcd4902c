import { expect, test } from "vitest";
import { makeRow } from "./contract/make-row.ts";
import { imitation } from "./imitation.ts";
import { lossContract } from "./loss.contract.ts";
import { totalsOf } from "./totals.ts";

lossContract("imitation", () => imitation());
lossContract("weighted imitation", () => imitation({ aggregation: "turn-mean", weightOf: ({ reward }) => 2 * reward }));

test("the mean negative log-probability of tokens with mask 1, rows weighted", () => {
  const rows = [
    makeRow({ id: "a", logprobs_T: Float32Array.of(-9, -1, -2), mask_T: Uint8Array.of(0, 1, 1) }),
    makeRow({ id: "b", logprobs_T: Float32Array.of(-3, -9), mask_T: Uint8Array.of(1, 0) }),
  ];
  expect(imitation().compute(rows, totalsOf(rows)).loss).toBe(2);
  const weighted = imitation({ weightOf: ({ id }) => (id === "b" ? 2 : 1) }).compute(rows, totalsOf(rows));
  expect(weighted.loss).toBe(3);
  expect(weighted.derivatives.logprobs_B_T[1]).toEqual(Float32Array.of(-2 / 3, 0));
  expect(weighted.metrics["imitation/nll"]).toBe(2);
});
