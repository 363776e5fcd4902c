import { expect, test } from "vitest";
import { makeRow } from "./contract/make-row.ts";
import { truncatedRatio } from "./corrections.ts";
import { lossContract } from "./loss.contract.ts";
import { reinforce } from "./reinforce.ts";
import { totalsOf } from "./totals.ts";

lossContract("REINFORCE", () => reinforce());
lossContract("REINFORCE corrected", () => reinforce({ corrections: [truncatedRatio()], aggregation: "turn-mean" }));

test("the contract's worked example", () => {
  const rows = [
    makeRow({
      mask_T: Uint8Array.of(0, 1, 1),
      advantages_T: Float32Array.of(0, 1, 1),
      logprobs_T: Float32Array.of(0, -0.5, -1),
    }),
  ];
  const result = reinforce({ aggregation: "token-mean" }).compute(rows, totalsOf(rows));
  expect(result.loss).toBe(0.75);
  expect(result.derivatives.logprobs_B_T[0]).toEqual(Float32Array.of(0, -0.5, -0.5));
});
