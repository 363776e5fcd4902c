import { describe, expect, test } from "vitest";
import { LudusError } from "../errors.ts";
import { createRng, type Rng } from "../random.ts";
import { addMetrics } from "./combine.ts";
import { randomRows } from "./contract/random-rows.ts";
import type { Loss, LossResult, LossRow } from "./loss.ts";
import { totalsOf } from "./totals.ts";

export interface LossContractOptions {
  /**
   * For a loss that takes something for constant though it depends on what is differentiated (a stopped gradient): a function
   * whose derivatives at `at` are those of the loss, its constants computed from `at`.
   */
  readonly primitive?: (at: readonly LossRow[]) => (rows: readonly LossRow[]) => number;
}

const inputs = ["logprobs_T", "entropies_T", "values_T"] as const;
const derivativeOf = { logprobs_T: "logprobs_B_T", entropies_T: "entropies_B_T", values_T: "values_B_T" } as const;
const seeds = [1, 2, 3];

/** The promises of `Loss`. Call it from a test file of each loss; `make` gives the loss with the options to be tested. */
export function lossContract(name: string, make: () => Loss, options: LossContractOptions = {}): void {
  describe(`${name} keeps the loss contract`, () => {
    const loss = make();

    test.each(seeds)("derivatives are those of the value (rows %i)", (seed) => {
      checkDerivatives(loss, randomRows(createRng(seed)), options);
    });

    test.each(seeds)("what is outside the mask has no derivative and changes nothing (rows %i)", (seed) => {
      const rng = createRng(seed);
      const rows = randomRows(rng);
      const result = loss.compute(rows, totalsOf(rows));
      forEachDerivative(rows, result, (b, t, derivative) => {
        if (rows[b].mask_T[t] === 0) expect(derivative === 0).toBe(true);
      });
      const disturbed = rows.map((row) => disturbOutside(row, rng));
      expect(plain(loss.compute(disturbed, totalsOf(disturbed)))).toEqual(plain(result));
    });

    test.each(seeds)("parts of a mini-batch add up to the whole (rows %i)", (seed) => {
      const rows = randomRows(createRng(seed));
      const totals = totalsOf(rows);
      const parts = partsOf(rows, loss).map((part) => loss.compute(part, totals));
      const whole = loss.compute(rows, totals);
      expect(parts.length).toBeGreaterThan(1);
      expect(parts.reduce((sum, part) => sum + part.loss, 0)).toBeCloseTo(whole.loss, 10);
      for (const kind of Object.values(derivativeOf)) {
        expect(parts.flatMap(({ derivatives }) => derivatives[kind] ?? [])).toEqual(whole.derivatives[kind] ?? []);
      }
      expectClose(addMetrics(parts), addMetrics([whole]));
    });

    test.each(seeds)("rows that it says have no gradient have none (rows %i)", (seed) => {
      const rng = createRng(seed);
      const rows = randomRows(rng).map((row, b) => (b % 2 === 0 ? withoutAdvantage(row) : row));
      const { derivatives } = loss.compute(rows, totalsOf(rows));
      for (const [b, row] of rows.entries()) {
        if (loss.zeroGradient?.(row) !== true) continue;
        for (const arrays_B_T of Object.values(derivatives)) {
          expect(arrays_B_T[b].every((derivative: number) => derivative === 0)).toBe(true);
        }
      }
    });

    test.each(seeds)("derivatives that it says are fixed do not depend on the policy (rows %i)", (seed) => {
      if (loss.hasFixedDerivatives !== true) return;
      const rows = randomRows(createRng(seed));
      const moved = rows.map((row) => ({ ...row, logprobs_T: row.logprobs_T.map((logprob) => 3 * logprob - 1) }));
      const result = loss.compute(rows, totalsOf(rows));
      expect(loss.compute(moved, totalsOf(moved)).derivatives).toEqual(result.derivatives);
    });

    test("the order of rows does not matter", () => {
      const rows = randomRows(createRng(4));
      const reversed = rows.toReversed();
      const result = loss.compute(rows, totalsOf(rows));
      const other = loss.compute(reversed, totalsOf(reversed));
      expect(other.loss).toBeCloseTo(result.loss, 10);
      expectClose(other.metrics, result.metrics);
      forEachDerivative(rows, result, (b, t, derivative, kind) => {
        const same = other.derivatives[kind]![rows.length - 1 - b][t];
        expect(Math.abs(same - derivative)).toBeLessThan(1e-6);
      });
    });

    test("with nothing to learn from, nothing is learned", () => {
      const rows = randomRows(createRng(5)).map((row) => ({ ...row, mask_T: new Uint8Array(row.mask_T.length) }));
      const result = loss.compute(rows, totalsOf(rows));
      expect(Number.isFinite(result.loss)).toBe(true);
      forEachDerivative(rows, result, (_b, _t, derivative) => expect(derivative === 0).toBe(true));
      expect(loss.compute([], totalsOf([])).loss).toBeCloseTo(0, 10);
    });

    test("what it needs and does not get is named in an error", () => {
      const rows = randomRows(createRng(6));
      const without = {
        entropies: "entropies_T",
        values: "values_T",
        reference: "referenceLogprobs_T",
        pairs: "preference",
      } as const;
      for (const [need, field] of Object.entries(without)) {
        if (!loss.needs[need as keyof typeof without]) continue;
        const lacking = rows.map(({ [field]: _, ...row }) => row as LossRow);
        expect(() => loss.compute(lacking, totalsOf(lacking)), need).toThrow(LudusError);
      }
    });

    test("what it does not say it needs, it does without", () => {
      const rows = randomRows(createRng(7));
      const result = loss.compute(rows, totalsOf(rows));
      const fields = { entropies: "entropies_T", values: "values_T", reference: "referenceLogprobs_T" } as const;
      for (const [need, field] of Object.entries(fields)) {
        if (loss.needs[need as keyof typeof fields]) continue;
        const lacking = rows.map(({ [field]: _, ...row }) => row as LossRow);
        const other = loss.compute(lacking, totalsOf(lacking));
        expect([other.loss, other.derivatives], need).toEqual([result.loss, result.derivatives]);
      }
    });
  });
}

/**
 * Central differences. Inputs are float32, so the step is as large as 1e-3 and what was really stepped is read back; everything
 * else is float64. Where the two one-sided differences disagree there is a kink, and nothing to compare; few places may be so.
 */
function checkDerivatives(loss: Loss, rows: readonly LossRow[], { primitive }: LossContractOptions): void {
  const totals = totalsOf(rows);
  const result = loss.compute(rows, totals);
  const evaluate = primitive?.(rows) ?? ((changed: readonly LossRow[]) => loss.compute(changed, totals).loss);
  let compared = 0;
  let kinks = 0;
  for (const input of inputs) {
    for (const [b, row] of rows.entries()) {
      for (const [t, inside] of row.mask_T.entries()) {
        if (inside === 0) continue;
        const [below, at, above] = [-step, 0, step].map((by) => {
          const array_T = row[input]!.slice();
          array_T[t] += by;
          return { x: array_T[t], y: evaluate(rows.with(b, { ...row, [input]: array_T })) };
        }) as [Point, Point, Point];
        const [left, right] = [slope(below, at), slope(at, above)];
        const derivative = result.derivatives[derivativeOf[input]]?.[b]?.[t] ?? 0;
        if (Math.abs(left - right) > 0.02 * (Math.abs(left) + Math.abs(right)) + 1e-5) kinks++;
        else {
          const expected = slope(below, above);
          const message = `${input} of row ${b} at ${t}: ${derivative}, numerically ${expected}`;
          expect(Math.abs(derivative - expected), message).toBeLessThan(1e-6 + 1e-4 * Math.abs(expected));
        }
        compared++;
      }
    }
  }
  expect(kinks / compared).toBeLessThan(0.05);
}

interface Point {
  readonly x: number;
  readonly y: number;
}
const step = 1e-3;
const slope = (from: Point, to: Point) => (to.y - from.y) / (to.x - from.x);

function forEachDerivative(
  rows: readonly LossRow[],
  { derivatives }: LossResult,
  visit: (b: number, t: number, derivative: number, kind: (typeof derivativeOf)[keyof typeof derivativeOf]) => void,
): void {
  for (const kind of Object.values(derivativeOf)) {
    if (derivatives[kind] === undefined) continue;
    expect(derivatives[kind].map((array_T) => array_T.length)).toEqual(rows.map((row) => row.mask_T.length));
    for (const [b, array_T] of derivatives[kind].entries()) {
      for (const [t, derivative] of array_T.entries()) visit(b, t, derivative, kind);
    }
  }
}

/** Other finite numbers wherever the mask is 0, and other tokens. */
function withoutAdvantage(row: LossRow): LossRow {
  return { ...row, reward: 0, advantages_T: new Float32Array(row.advantages_T.length) };
}

function disturbOutside(row: LossRow, rng: Rng): LossRow {
  const disturbed = Object.entries(row).map(([name, array_T]) => {
    if (!(array_T instanceof Float32Array)) return [name, array_T];
    return [name, array_T.map((value, t) => (row.mask_T[t] === 0 ? value + rng.normal() : value))];
  });
  const tokens_T = row.tokens_T.map((token, t) => (row.mask_T[t] === 0 ? token + 1 : token));
  return { ...row, ...Object.fromEntries(disturbed), tokens_T };
}

/** Consecutive rows, as few in a part as the loss allows. */
function partsOf(rows: readonly LossRow[], { needs }: Loss): LossRow[][] {
  const unitOf = (row: LossRow) => (needs.pairs ? `${row.preference?.pair}` : row.id);
  return [...Map.groupBy(rows, unitOf).values()];
}

/** -0 and 0 are one number here. */
function plain({ loss, derivatives, metrics }: LossResult): unknown {
  const arrays = Object.values(derivatives).map((array_B_T) =>
    array_B_T.map((array_T) => Array.from(array_T, (x) => x + 0)),
  );
  return { loss, arrays, metrics };
}

function expectClose(metrics: LossResult["metrics"], expected: LossResult["metrics"]): void {
  expect(Object.keys(metrics).toSorted()).toEqual(Object.keys(expected).toSorted());
  for (const [name, value] of Object.entries(expected)) expect(metrics[name], name).toBeCloseTo(value, 10);
}
