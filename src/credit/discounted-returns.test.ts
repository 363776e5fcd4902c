import { expect, test } from "vitest";
import { makeRow, near } from "./contract/make-row.ts";
import { discountedReturns } from "./discounted-returns.ts";
import { returnsToGo } from "./returns-to-go.ts";

test("golden: 0.99 per turn", () => {
  expect([...returnsToGo([0, 0, 1], 0.99)]).toEqual(near([0.9801, 0.99, 1]));
  expect([...returnsToGo([1, 2, 3], 0.5)]).toEqual([2.75, 3.5, 3]);
});

test("a turn's tokens share its return, discounted by turns and not by tokens", () => {
  const row = makeRow({ mask: [0, 1, 1, 1, 0, 0, 1, 1], turnRewards: [0.5, 0], reward: 1.5 });
  const { advantages_B_T, returns_B_T } = discountedReturns().assign([row]);
  expect([...advantages_B_T[0]]).toEqual(near([0, 1.49, 1.49, 1.49, 0, 0, 1, 1]));
  expect(returns_B_T).toBeUndefined();
});

test("with values, that at the turn's first sampled token is subtracted", () => {
  const values_T = Float32Array.of(9, 0.25, 7, 0, 0.5, 7);
  const row = makeRow({ mask: [0, 1, 1, 0, 1, 1], reward: 1, values_T });
  const { advantages_B_T, returns_B_T } = discountedReturns({ gamma: 0.5, baseline: "values" }).assign([row]);
  expect([...advantages_B_T[0]]).toEqual([0, 0.25, 0.25, 0, 0.5, 0.5]);
  expect([...returns_B_T![0]]).toEqual([0, 0.5, 0.5, 0, 1, 1]);
});

test("the gradient of a two-armed bandit is the analytic one", () => {
  // p(high) * A_high * (1 - p) - p(low) * A_low * p = p (1 - p) (r_high - r_low), whatever is subtracted from both
  const p = 0.3;
  const [high, low] = [1, 0.2];
  const rows = [high, low].map((reward, g) => makeRow({ mask: [1], rollout: `a/${g}`, reward }));
  const [above, below] = discountedReturns().assign(rows).advantages_B_T;
  const gradient = p * above[0] * (1 - p) - (1 - p) * below[0] * p;
  expect(gradient).toBeCloseTo(p * (1 - p) * (high - low), 6);
});
