import { expect, test } from "vitest";
import { makeRow } from "./contract/make-row.ts";
import { lossContract } from "./loss.contract.ts";
import { totalsOf } from "./totals.ts";
import { valueLoss } from "./value-loss.ts";

lossContract("the value loss", () => valueLoss());
lossContract("the value loss without clip", () => valueLoss({ clipRange: Number.POSITIVE_INFINITY, coefficient: 0.5 }));
lossContract("the value loss over sequences", () => valueLoss({ clipRange: 0.2, aggregation: "seq-mean-token-mean" }));

test("the worse of the value and the clipped value counts, and a clipped value learns nothing", () => {
  // moved 1 towards the return, of which 0.5 counts; moved 1 away from it; moved 0.25; not in the mask
  const row = makeRow({
    logprobs_T: new Float32Array(4),
    mask_T: Uint8Array.of(1, 1, 1, 0),
    oldValues_T: Float32Array.of(0, 0, 0, 0),
    values_T: Float32Array.of(1, 1, 0.25, 8),
    returns_T: Float32Array.of(2, -1, 1, 0),
  });
  const { loss, derivatives, metrics } = valueLoss().compute([row], totalsOf([row]));
  expect(loss).toBeCloseTo((0.5 * (1.5 ** 2 + 2 ** 2 + 0.75 ** 2)) / 3, 6);
  const expected = [0, 2 / 3, -0.25, 0];
  for (const [t, derivative] of derivatives.values_B_T![0].entries()) expect(derivative).toBeCloseTo(expected[t], 6);
  expect(metrics["value/clip-fraction"]).toBeCloseTo(1 / 3, 12);
  expect(metrics["value/squared-error"]).toBeCloseTo((1 + 4 + 0.75 ** 2) / 3, 6);
});

test("without a clip no old values are needed", () => {
  const row = makeRow({ logprobs_T: new Float32Array(1), values_T: Float32Array.of(3), returns_T: Float32Array.of(1) });
  expect(valueLoss({ clipRange: Number.POSITIVE_INFINITY }).compute([row], totalsOf([row])).loss).toBe(2);
  expect(() => valueLoss().compute([row], totalsOf([row]))).toThrow("missing-input: got no oldValues_T in row row");
});
