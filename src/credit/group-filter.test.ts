import { describe, expect, test } from "vitest";
import { createRng, type Rng } from "../random.ts";
import { near } from "./contract/make-row.ts";
import { dynamicSampling } from "./dynamic-sampling.ts";
import type { FilterGroup, GroupFilter } from "./group-filter.ts";
import { keepAllGroups } from "./keep-all-groups.ts";
import { skipUniform } from "./skip-uniform.ts";
import { topDeviation } from "./top-deviation.ts";
import { taskValue, valueReplacement } from "./value-replacement.ts";

const groupsOf = (...rewards: number[][]): FilterGroup[] =>
  rewards.map((rewards_G, index) => ({ id: `${index}`, rewards_G }));
const keptBy = (filter: GroupFilter, groups: readonly FilterGroup[]) =>
  filter.choose(groups, createRng(1)).kept.map(({ index }) => index);

const mixed = groupsOf([0, 0], [0, 1], [1, 1], [0.4, 0.6], [0.1, 0.1]);

describe.each([
  keepAllGroups(),
  skipUniform(),
  dynamicSampling({ wanted: 3 }),
  topDeviation(),
  valueReplacement(),
] as const)("$name", (filter) => {
  test("chooses groups that exist, scales within 0..1, whole refills, finite metrics; the same chance, the same choice", () => {
    const rng = createRng(2);
    for (let round = 0; round < 20; round++) {
      const rewards = Array.from({ length: rng.integer(12) }, () =>
        Array.from({ length: rng.integer(5) }, () => rng.integer(2)),
      );
      const groups = groupsOf(...rewards);
      const choice = filter.choose(groups, createRng(round));
      expect(filter.choose(groups, createRng(round))).toEqual(choice);
      for (const { index, scale } of choice.kept) {
        expect(groups[index]).toBeDefined();
        expect(scale > 0 && scale <= 1).toBe(true);
      }
      expect(Number.isInteger(choice.refill) && choice.refill >= 0).toBe(true);
      expect(Object.values(choice.metrics).every(Number.isFinite)).toBe(true);
    }
  });

  test("reports groups of equal rewards, split by whether they passed", () => {
    const { metrics } = filter.choose(mixed, createRng(1));
    expect(metrics).toMatchObject({ "filter/uniform-groups": 0.6, "filter/all-fail": 0.4, "filter/all-pass": 0.2 });
  });
});

test("keepAllGroups keeps all, skipUniform those with something to compare", () => {
  expect(keptBy(keepAllGroups(), mixed)).toEqual([0, 1, 2, 3, 4]);
  expect(keptBy(skipUniform(), mixed)).toEqual([1, 3]);
  expect(skipUniform().choose(mixed, createRng(1)).metrics["filter/kept-groups"]).toBe(0.4);
  expect(keptBy(skipUniform(), groupsOf([1], [], [0.3, 0.1 + 0.2]))).toEqual([]);
});

test("what counts as passing can be set", () => {
  const { metrics } = keepAllGroups({ passReward: 0.1 }).choose(mixed, createRng(1));
  expect(metrics).toMatchObject({ "filter/all-fail": 0.2, "filter/all-pass": 0.4 });
});

describe("dynamicSampling", () => {
  const [equal, varied] = [
    [0, 0],
    [0, 1],
  ];

  test("asks for what will probably do, then keeps the first", () => {
    const filter = dynamicSampling({ wanted: 3 });
    const first = filter.choose(groupsOf(equal, varied, equal, equal), createRng(1));
    // one of four was of use and two are missing, but no more than a batch at a time
    expect([first.refill, first.metrics["filter/missing-groups"]]).toEqual([3, 2]);
    const second = filter.choose(groupsOf(equal, varied, varied, varied, equal, varied), createRng(1));
    expect(second.refill).toBe(0);
    expect(second.kept.map(({ index }) => index)).toEqual([1, 2, 3]);
  });

  test("half of use: asks for twice what is missing", () => {
    const groups = groupsOf(varied, equal, varied, equal);
    expect(dynamicSampling({ wanted: 8 }).choose(groups, createRng(1)).refill).toBe(8);
    expect(dynamicSampling({ wanted: 4 }).choose(groups, createRng(1)).refill).toBe(4);
    expect(dynamicSampling({ wanted: 3 }).choose(groups, createRng(1)).refill).toBe(2);
  });

  test("ends at the bound, whatever is rolled out", () => {
    const filter = dynamicSampling({ wanted: 4, maxRefills: 2 });
    const groups = groupsOf(equal, varied, equal, equal);
    let choice = filter.choose(groups, createRng(1));
    while (choice.refill > 0) {
      groups.push(...groupsOf(...new Array<number[]>(choice.refill).fill(equal)));
      choice = filter.choose(groups, createRng(1));
    }
    expect(groups).toHaveLength(12);
    expect(choice.kept).toEqual([{ index: 1, scale: 1 }]);
    expect(choice.metrics["filter/missing-groups"]).toBe(3);
  });

  test("fills up by chance well before the bound", () => {
    const rng = createRng(3);
    const filter = dynamicSampling({ wanted: 16 });
    const groups: FilterGroup[] = [];
    let choice = filter.choose(groups, rng);
    while (choice.refill > 0) {
      const drawn = Array.from({ length: choice.refill }, () => (rng.next() < 0.3 ? varied : equal));
      groups.push(...groupsOf(...drawn));
      choice = filter.choose(groups, rng);
    }
    expect(choice.kept).toHaveLength(16);
    expect(groups.length).toBeLessThan(16 * 10);
  });

  test("without refills the first batch is all there is; nine are the default", () => {
    expect(dynamicSampling({ wanted: 2, maxRefills: 0 }).choose(groupsOf(equal, varied), createRng(1)).refill).toBe(0);
    const seen = (count: number) => groupsOf(...new Array<number[]>(count).fill(equal));
    expect(dynamicSampling({ wanted: 2 }).choose(seen(19), createRng(1)).refill).toBe(1);
    expect(dynamicSampling({ wanted: 2 }).choose(seen(20), createRng(1)).refill).toBe(0);
  });

  test("nonsense is refused", () => {
    expect(() => dynamicSampling({ wanted: 0 })).toThrow("wanted 0");
    expect(() => dynamicSampling({ wanted: 2, maxRefills: -1 })).toThrow("maxRefills -1");
  });
});

describe("topDeviation", () => {
  test("keeps whole groups, most deviating first, in their order, ties to the earlier", () => {
    const groups = groupsOf([0, 0.1], [0, 1], [0, 0.5], [0, 1], [0, 1], [0, 0], [0, 0.2], [1, 1]);
    expect(keptBy(topDeviation(), groups)).toEqual([1, 3]);
    expect(keptBy(topDeviation({ share: 0.5 }), groups)).toEqual([1, 2, 3, 4]);
    expect(keptBy(topDeviation({ share: 1 }), groups)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  test("rounds down, to one at least", () => {
    const groups = groupsOf(...Array.from({ length: 10 }, (_, index) => [0, index]));
    expect(keptBy(topDeviation({ share: 0.3 }), groups)).toEqual([7, 8, 9]);
    expect(keptBy(topDeviation({ share: 0.39 }), groups)).toEqual([7, 8, 9]);
    expect(keptBy(topDeviation({ share: 0.01 }), groups)).toEqual([9]);
    expect(keptBy(topDeviation({ share: 0.29 }), new Array<FilterGroup>(100).fill(groups[1]))).toHaveLength(29);
    expect(() => topDeviation({ share: 0 })).toThrow("share 0");
    expect(() => topDeviation({ share: 1.01 })).toThrow("share 1.01");
  });
});

describe("valueReplacement", () => {
  test("golden: value is high where the task is hard and uncertain", () => {
    const values = [
      [0, 0, 0, 1],
      [0, 1, 1, 1],
      [0, 0, 1, 1],
      [1, 1],
    ].map((rewards_G) => taskValue(rewards_G, 1));
    expect(values).toEqual(near([0.375, 0.125, 0.288675, 0]));
  });

  test("the batch keeps its size, and a group's copies together weigh the root of their number", () => {
    const groups = groupsOf([0, 0], [0, 1], [1, 1], [0, 0]);
    expect(valueReplacement().choose(groups, createRng(1)).kept).toEqual(new Array(4).fill({ index: 1, scale: 0.5 }));
  });

  test("groups are drawn in proportion to their value", () => {
    const equal = new Array<number[]>(4000).fill([0, 0]);
    const { kept } = valueReplacement().choose(groupsOf([0, 0, 0, 1], [0, 1, 1, 1], ...equal), createRng(4));
    const hard = kept.filter(({ index }) => index === 0).length;
    expect(hard / kept.length).toBeCloseTo(0.75, 1);
  });

  /** Draws the same number every time. */
  const always = (number: number): Rng => ({ ...createRng(1), next: () => number });
  /** Which group replaces one of equal rewards, the last, when `number` is drawn. */
  const replacement = (number: number, maxReward: number, ...rewards: number[][]) =>
    valueReplacement({ maxReward })
      .choose(groupsOf(...rewards, [0, 0]), always(number))
      .kept.at(-1)!.index;

  test("golden: values 0.375, 0.288675 and 0.125, so shares 0.475, 0.366 and 0.158", () => {
    const rewards = [
      [0, 0, 0, 1],
      [0, 0, 1, 1],
      [0, 1, 1, 1],
    ];
    const drawn = [0, 0.47, 0.48, 0.84, 0.85, 0.99].map((number) => replacement(number, 1, ...rewards));
    expect(drawn).toEqual([0, 0, 1, 1, 2, 2]);
  });

  test("a group of no value is never drawn beside one of some, whatever the chance", () => {
    const worthless = [10, 12];
    expect(replacement(0, 10, worthless, [0, 1])).toBe(1);
    const almostOne = 1 - 2 ** -53;
    expect(replacement(almostOne, 10, [0, 1], worthless)).toBe(0);
    // these values, subtracted one after another from their sum, leave the last or more by rounding
    expect(replacement(almostOne, 10, [0, 0.1], [0, 0.1], [0, 1.9], worthless)).toBe(2);
  });

  test("without any group to learn from nothing is kept", () => {
    expect(keptBy(valueReplacement(), groupsOf([0, 0], [1, 1]))).toEqual([]);
  });

  test("where the best reward is already the rule, any group will do", () => {
    const { kept } = valueReplacement({ maxReward: 0 }).choose(groupsOf([0, 1], [0, 0]), createRng(1));
    expect(kept.map(({ index }) => index)).toEqual([0, 0]);
  });
});
