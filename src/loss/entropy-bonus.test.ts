import { expect, test } from "vitest";
import { makeRow } from "./contract/make-row.ts";
import { entropyBonus } from "./entropy-bonus.ts";
import { lossContract } from "./loss.contract.ts";
import { totalsOf } from "./totals.ts";

lossContract("the entropy bonus", () => entropyBonus({ coefficient: 0.3 }));
lossContract("the entropy bonus over turns", () => entropyBonus({ coefficient: 0.3, aggregation: "turn-mean" }));

test("less the coefficient times the mean entropy", () => {
  const row = makeRow({
    logprobs_T: new Float32Array(3),
    mask_T: Uint8Array.of(0, 1, 1),
    entropies_T: Float32Array.of(9, 1, 2),
  });
  const { loss, derivatives, metrics } = entropyBonus({ coefficient: 0.5 }).compute([row], totalsOf([row]));
  expect(loss).toBe(-0.75);
  expect(derivatives.entropies_B_T).toEqual([Float32Array.of(0, -0.25, -0.25)]);
  expect(derivatives.logprobs_B_T).toEqual([new Float32Array(3)]);
  expect(metrics["entropy-bonus/entropy"]).toBe(1.5);
});
