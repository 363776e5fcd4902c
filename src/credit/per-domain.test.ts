import { describe, expect, test } from "vitest";
import { createRng } from "../random.ts";
import { groupAttempts } from "./attempts.ts";
import { firstSampled, makeGroup, makeRow, near } from "./contract/make-row.ts";
import { sampleRows } from "./contract/sample-rows.ts";
import type { Credit, CreditRow } from "./credit.ts";
import { creditResult } from "./credit-result.ts";
import { gae } from "./gae.ts";
import { drGrpoCredit } from "./group-relative.ts";
import { fitNormaliser, type NormaliseMethod, normaliseReward } from "./normalise-rewards.ts";
import { perDomain } from "./per-domain.ts";
import { perRole } from "./per-role.ts";
import { reinforcePlusPlusCredit } from "./reinforce-plus-plus.ts";
import { remaxCredit } from "./remax-credit.ts";
import { returnsToGo } from "./returns-to-go.ts";
import { fillSampled, zerosLike } from "./spread.ts";
import { rewardsOf, stepsOf } from "./steps.ts";

/** A turn's tokens get what the rollout earned from then on: rewards as they are, with nothing subtracted. */
const turnReturns: Credit = {
  name: "turn-returns",
  needs: {},
  assign(rows) {
    const groups = groupAttempts(rows);
    const advantages_B_T = zerosLike(rows);
    for (const attempt of groups.flat()) {
      const steps = stepsOf(rows, attempt);
      const returns_K = returnsToGo(rewardsOf(steps), 1);
      for (const [k, { row, start, end }] of steps.entries()) {
        fillSampled(advantages_B_T[row], rows[row].mask_T, returns_K[k], start, end);
      }
    }
    return creditResult(rows, groups, advantages_B_T);
  },
};

/** Share of all absolute advantage that falls to one part of the batch. */
function shareOf(credit: Credit, rows: readonly CreditRow[], isPart: (row: CreditRow) => boolean): number {
  const { advantages_B_T } = credit.assign(rows);
  const sizes = advantages_B_T.map((advantages_T) => advantages_T.reduce((sum, value) => sum + Math.abs(value), 0));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  return sizes.reduce((sum, size, b) => sum + (isPart(rows[b]) ? size : 0), 0) / total;
}

function mixedRows(): CreditRow[] {
  const rng = createRng(17);
  return Array.from({ length: 8 }, (_, i) => {
    const [domain, best] = i % 2 === 0 ? (["small", 1] as const) : (["large", 100] as const);
    const rewards_G = Array.from({ length: 6 }, () => rng.next() * best);
    return makeGroup(rewards_G, { group: `${i}`, domain, role: domain });
  }).flat();
}

describe("a reward in 0..1 beside one in 0..100", () => {
  const isSmall = (row: CreditRow) => row.domain === "small";

  test.each([
    ["perDomain of drGrpo", perDomain(drGrpoCredit()), drGrpoCredit()],
    ["perDomain of REINFORCE++", perDomain(reinforcePlusPlusCredit()), reinforcePlusPlusCredit()],
    ["perRole", perRole(), reinforcePlusPlusCredit()],
  ])("%s: it is not starved", (_, fair, unfair) => {
    const rows = mixedRows();
    expect(shareOf(fair, rows, isSmall)).toBeGreaterThan(0.4);
    expect(shareOf(fair, rows, isSmall)).toBeLessThan(0.6);
    // what is avoided: nothing to learn from, or all of it pushed the same way
    const { advantages_B_T } = unfair.assign(rows);
    const small = firstSampled(advantages_B_T, rows).filter((_value, b) => isSmall(rows[b]));
    const range = Math.max(...small) - Math.min(...small);
    const all = firstSampled(advantages_B_T, rows);
    expect(range / (Math.max(...all) - Math.min(...all))).toBeLessThan(0.03);
  });
});

describe("normalisers", () => {
  const rewards = [0, 0, 0, 0, 0, 0, 0, 0, 0, 10];
  const apply = (numbers: readonly number[], method: NormaliseMethod) => {
    const normaliser = fitNormaliser(numbers, method);
    return numbers.map((reward) => normaliseReward(reward, normaliser));
  };

  test.each([
    ["identity", 0, 10],
    ["mean", -1, 9],
    ["mean-std", -0.316228, 2.846049],
    ["asym-clip", -0.316228, 2.846049],
  ] as const)("golden: %s", (method, low, high) => {
    expect(apply(rewards, method)).toEqual(near(rewards.map((reward) => (reward === 0 ? low : high))));
  });

  test("golden: asym-clip cuts rare failures at -1 and rare successes at 3", () => {
    expect(apply([1, 1, 1, 1, 1, 0], "asym-clip")).toEqual(near([...new Array(5).fill(0.408247), -1]));
    expect(apply([...new Array(15).fill(0), 1], "asym-clip").at(-1)).toBe(3);
  });

  test("golden: mean-std does not cut", () => {
    expect(apply([...new Array(15).fill(0), 1], "mean-std").at(-1)).toBeCloseTo(0.9375 / (0.25 + 1e-6), 6);
  });

  test("golden: rewards that hardly differ are held down, and below 1e-6 they are equal", () => {
    const deviation = 1e-5 * Math.SQRT1_2;
    const high = 5e-6 / (deviation + 1e-6);
    expect(apply([0, 1e-5], "mean-std")).toEqual(near([-high, high]));
    expect(apply([5, 5 + 1e-8], "mean-std")).toEqual(near([0, 0]));
  });

  test("equal rewards become 0", () => {
    expect(apply([5, 5, 5], "mean-std")).toEqual([0, 0, 0]);
    expect(apply([5], "asym-clip")).toEqual([0]);
  });
});

describe("perDomain", () => {
  test("golden: scales by domain, group or batch", () => {
    const rows = [
      ...makeGroup([0, 2], { group: "a", domain: "x" }),
      ...makeGroup([4, 6], { group: "b", domain: "x" }),
      ...makeGroup([10, 20], { group: "c", domain: "y" }),
    ];
    const first = (grouping: "domain" | "group" | "batch") => {
      const credit = perDomain(turnReturns, { grouping, method: "mean" });
      return firstSampled(credit.assign(rows).advantages_B_T, rows);
    };
    expect(first("domain")).toEqual(near([-3, -1, 1, 3, -5, 5]));
    expect(first("group")).toEqual(near([-1, 1, -1, 1, -5, 5]));
    expect(first("batch")).toEqual(near([-7, -5, -3, -1, 3, 13]));
  });

  test("a rollout of several rows counts once", () => {
    const parts = [false, true].map((isLast) => makeRow({ mask: [1], rollout: "a/0", reward: 4, isLast }));
    const rows = [...parts, makeRow({ mask: [1], rollout: "a/1", reward: 0 })];
    const { advantages_B_T } = perDomain(turnReturns, { method: "mean" }).assign(rows);
    expect(advantages_B_T.map(([first]) => first)).toEqual([2, 2, -2]);
  });

  test("turn rewards and baselines are on the same scale as totals", () => {
    const rows = [100, 300].map((reward, g) =>
      makeRow({ mask: [1, 0, 1], rollout: `a/${g}`, turnRewards: [100, 0], reward, baseline: 200 }),
    );
    const returns = perDomain(turnReturns).assign(rows).advantages_B_T;
    const unit = 100 / 141.421356;
    expect([...returns[0]]).toEqual(near([-unit, 0, -2 * unit]));
    expect([...returns[1]]).toEqual(near([unit, 0, 0]));
    expect(firstSampled(perDomain(remaxCredit()).assign(rows).advantages_B_T, rows)).toEqual(near([-unit, unit]));
  });

  test("metrics are of rewards as given", () => {
    const { metrics } = perDomain(drGrpoCredit()).assign(makeGroup([0, 100]));
    expect(metrics["credit/group-std"]).toBeCloseTo(70.710678, 5);
    expect(metrics["credit/absolute-advantage"]).toBeCloseTo(Math.SQRT1_2, 5);
  });

  test("rows that have no baseline are given none", () => {
    const seen: CreditRow[] = [];
    const credit: Credit = {
      ...drGrpoCredit(),
      assign(rows) {
        seen.push(...rows);
        return drGrpoCredit().assign(rows);
      },
    };
    perDomain(credit).assign([...makeGroup([0, 1]), ...makeGroup([0, 1], { group: "b", baseline: 0.5 })]);
    expect(seen.map((row) => "baseline" in row)).toEqual([false, false, true, true]);
  });
});

describe("perRole", () => {
  test("golden: mean and deviation of each pair of domain and role", () => {
    const rows = [
      ...makeGroup([1, 0], { group: "a", domain: "deduction", role: "solver" }),
      ...makeGroup([0.9, 0.7], { group: "b", domain: "deduction", role: "proposer" }),
      ...makeGroup([50, -50], { group: "c", domain: "induction", role: "solver" }),
    ];
    const { advantages_B_T, metrics } = perRole().assign(rows);
    // two values, two tokens each: sqrt(3) / 2
    expect(firstSampled(advantages_B_T, rows)).toEqual(near([1, -1, 1, -1, 1, -1].map((sign) => sign * 0.866025)));
    expect(metrics["credit/absolute-advantage/deduction/proposer"]).toBeCloseTo(0.866025, 5);
    expect(metrics["credit/absolute-advantage"]).toBeCloseTo(0.866025, 5);
  });

  test("returns of each part are put back in the order of rows", () => {
    const rows = sampleRows(18);
    const { returns_B_T } = perRole(gae({ whiten: false })).assign(rows);
    expect(returns_B_T).toEqual(gae({ whiten: false }).assign(rows).returns_B_T);
    expect(perRole().assign(rows).returns_B_T).toBeUndefined();
  });

  test("without domains, metrics are named after the role alone", () => {
    const { metrics } = perRole().assign(makeGroup([0, 1], { role: "solver" }));
    expect(Object.keys(metrics)).toContain("credit/group-std/solver");
    expect(Object.keys(metrics).filter((name) => name.includes("undefined"))).toEqual([]);
  });
});
