import { expect, test } from "vitest";
import { firstSampled, makeGroup } from "./contract/make-row.ts";
import { remaxCredit } from "./remax-credit.ts";

test("golden: the reward less the greedy rollout's", () => {
  const rows = [...makeGroup([1, 0, 0.5], { baseline: 0.5 }), ...makeGroup([1], { group: "b", baseline: 1 })];
  expect(firstSampled(remaxCredit().assign(rows).advantages_B_T, rows)).toEqual([0.5, -0.5, 0, 0]);
});
