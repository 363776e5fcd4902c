import { expect, test } from "vitest";
import { LudusError } from "../errors.ts";
import { cutRow, sampleRows } from "./contract/sample-rows.ts";
import type { Credit, CreditResult, CreditRow } from "./credit.ts";

const seeds = [1, 2, 3, 4, 5];

export interface CreditContractOptions {
  /** True of a scheme that on purpose treats the rows of one rollout apart. */
  readonly rowsApart?: boolean;
}

/** The promises of `Credit`. Call it inside a `describe` of each scheme. */
export function creditContract(make: () => Credit, { rowsApart = false }: CreditContractOptions = {}): void {
  test("one number per token, finite, exactly 0 outside the mask", () => {
    for (const seed of seeds) {
      const rows = sampleRows(seed);
      const result = make().assign(rows);
      for (const array_B_T of arraysOf(result)) {
        expect(array_B_T.map(({ length }) => length)).toEqual(rows.map(({ mask_T }) => mask_T.length));
        expect(array_B_T.every((array_T) => array_T.every(Number.isFinite))).toBe(true);
        for (const [b, { mask_T }] of rows.entries()) {
          expect(array_B_T[b].filter((value, t) => mask_T[t] === 0 && value !== 0)).toHaveLength(0);
        }
      }
      expect(result.advantages_B_T.some((advantages_T) => advantages_T.some((value) => value !== 0))).toBe(true);
    }
  });

  test("what observations are said to be worth is not read", () => {
    for (const seed of seeds) {
      const rows = sampleRows(seed);
      const disturb = (array_T: Float32Array, { mask_T }: CreditRow) =>
        array_T.map((value, t) => (mask_T[t] === 0 ? Number.NaN : value));
      const disturbed = rows.map((row) => ({
        ...row,
        values_T: disturb(row.values_T!, row),
        ratios_T: disturb(row.ratios_T!, row),
      }));
      expect(make().assign(disturbed)).toEqual(make().assign(rows));
    }
  });

  test("rows stay as they were, and the same rows give the same credit", () => {
    const rows = sampleRows(6);
    const before = structuredClone(rows);
    const credit = make();
    expect(credit.assign(rows)).toEqual(credit.assign(rows));
    expect(rows).toEqual(before);
  });

  test("the order of rollouts does not matter", () => {
    const rows = sampleRows(7);
    const reversed = make().assign(rows.toReversed());
    expectClose(reversed.advantages_B_T.toReversed(), make().assign(rows).advantages_B_T);
  });

  if (!rowsApart) {
    test("a rollout cut in two rows is the same rollout", () => {
      for (const seed of seeds) {
        const rows = sampleRows(seed);
        const whole = make().assign(rows);
        const cut = make().assign(rows.flatMap((row, b) => cutRow(row, 1 + (b % (row.turns.length - 1)))));
        for (const [i, array_B_T] of arraysOf(cut).entries()) {
          const joined = rows.map((_, b) => Float32Array.of(...array_B_T[2 * b], ...array_B_T[2 * b + 1]));
          expectClose(joined, arraysOf(whole)[i]);
        }
        expect(cut.metrics["credit/group-std"]).toBeCloseTo(whole.metrics["credit/group-std"], 10);
      }
    });
  }

  test("no rows, and rows without a sampled token, are no trouble", () => {
    expect(make().assign([]).advantages_B_T).toEqual([]);
    const rows = sampleRows(8).map((row) => ({ ...row, mask_T: row.mask_T.map(() => 0) }));
    const { advantages_B_T, metrics } = make().assign(rows);
    expect(advantages_B_T.every((advantages_T) => advantages_T.every((value) => value === 0))).toBe(true);
    expect(Object.values(metrics).every(Number.isFinite)).toBe(true);
  });

  test("spread in groups, uniform groups and the size of advantages are reported", () => {
    const { metrics } = make().assign(sampleRows(9));
    expect(metrics["credit/group-std"]).toBeGreaterThan(0);
    expect(metrics["credit/uniform-groups"]).toBeCloseTo(2 / 5, 10);
    expect(metrics["credit/absolute-advantage"]).toBeGreaterThan(0);
  });

  test("a row that lacks what is needed is refused", () => {
    const { needs, assign } = make();
    const lacking = (names: readonly string[]) =>
      sampleRows(10).map((row) => {
        const kept = Object.entries(row).filter(([name]) => !names.includes(name));
        return Object.fromEntries(kept) as unknown as CreditRow;
      });
    if (needs.values) expect(() => assign(lacking(["values_T"]))).toThrow(LudusError);
    if (needs.ratios) expect(() => assign(lacking(["ratios_T"]))).toThrow(LudusError);
    if (needs.greedyBaseline) expect(() => assign(lacking(["baseline"]))).toThrow(LudusError);
    const unneeded = [
      ...(needs.values ? [] : ["values_T"]),
      ...(needs.ratios ? [] : ["ratios_T"]),
      ...(needs.greedyBaseline ? [] : ["baseline"]),
    ];
    expect(assign(lacking(unneeded)).advantages_B_T).toEqual(assign(sampleRows(10)).advantages_B_T);
  });
}

function arraysOf({ advantages_B_T, returns_B_T }: CreditResult): (readonly Float32Array[])[] {
  return returns_B_T === undefined ? [advantages_B_T] : [advantages_B_T, returns_B_T];
}

function expectClose(actual: readonly Float32Array[], expected: readonly Float32Array[]): void {
  const close = expected.map((array_T) => Array.from(array_T, (value) => expect.closeTo(value, 4)));
  expect(actual.map((array_T) => Array.from(array_T))).toEqual(close);
}
