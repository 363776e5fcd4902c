import { describe, expect, test } from "vitest";
import { createRng } from "../random.ts";
import { type Aggregation, coefficients } from "./aggregation.ts";
import { makeRow } from "./contract/make-row.ts";
import { randomRows } from "./contract/random-rows.ts";
import { imitation } from "./imitation.ts";
import type { LossRow } from "./loss.ts";
import { ppoClip } from "./ppo-clip.ts";
import { totalsOf } from "./totals.ts";

const row = (group: string, rollout: string, mask: number[], turns = [{ start: 0, end: mask.length }]) =>
  makeRow({
    id: rollout,
    group,
    rollout,
    turns,
    mask_T: Uint8Array.from(mask),
    logprobs_T: new Float32Array(mask.length),
  });
const twoTurns = [
  { start: 1, end: 2 },
  { start: 3, end: 6 },
];
// 4 + 1 tokens in one group, 3 in the other; the fourth rollout has none
const rows = [
  row("a", "a/0", [0, 1, 0, 1, 1, 1], twoTurns),
  row("a", "a/1", [1]),
  row("b", "b/0", [1, 0, 1, 1]),
  row("c", "c/0", [0, 0]),
];

describe("the coefficient of a token", () => {
  test.each<[Aggregation, number[][]]>([
    ["token-mean", [[0, 1 / 8, 0, 1 / 8, 1 / 8, 1 / 8], [1 / 8], [1 / 8, 0, 1 / 8, 1 / 8], [0, 0]]],
    ["seq-mean-token-mean", [[0, 1 / 12, 0, 1 / 12, 1 / 12, 1 / 12], [1 / 3], [1 / 9, 0, 1 / 9, 1 / 9], [0, 0]]],
    ["seq-mean-token-sum", [[0, 1 / 3, 0, 1 / 3, 1 / 3, 1 / 3], [1 / 3], [1 / 3, 0, 1 / 3, 1 / 3], [0, 0]]],
    [
      { mode: "seq-mean-token-sum-norm", length: 10 },
      [[0, 1 / 30, 0, 1 / 30, 1 / 30, 1 / 30], [1 / 30], [1 / 30, 0, 1 / 30, 1 / 30], [0, 0]],
    ],
    ["group-mean-token-mean", [[0, 0.1, 0, 0.1, 0.1, 0.1], [0.1], [1 / 6, 0, 1 / 6, 1 / 6], [0, 0]]],
    ["turn-mean", [[0, 1 / 6, 0, 1 / 18, 1 / 18, 1 / 18], [1 / 3], [1 / 9, 0, 1 / 9, 1 / 9], [0, 0]]],
  ])("%j", (aggregation, expected_B_T) => {
    const totals = totalsOf(rows);
    for (const [b, expected_T] of expected_B_T.entries()) {
      const given_T = Array.from(coefficients(rows[b], totals, aggregation));
      expect(given_T).toHaveLength(expected_T.length);
      for (const [t, expected] of expected_T.entries()) expect(given_T[t]).toBeCloseTo(expected, 12);
    }
  });

  test.each<Aggregation>(["token-mean", "seq-mean-token-mean", "group-mean-token-mean", "turn-mean"])(
    "coefficients of a mean add up to 1: %s",
    (aggregation) => {
      const random = randomRows(createRng(1));
      const totals = totalsOf(random);
      const sum = random.flatMap((row) => [...coefficients(row, totals, aggregation)]).reduce((a, b) => a + b, 0);
      expect(sum).toBeCloseTo(1, 12);
    },
  );

  test("a rollout weighs one, also when one of its rows has nothing to learn from", () => {
    const part = { rollout: "x", group: "x", weight: 0.5, logprobs_T: new Float32Array(2) };
    const silent = makeRow({ ...part, id: "x/0", mask_T: new Uint8Array(2) });
    const spoken = makeRow({ ...part, id: "x/1" });
    expect([...coefficients(spoken, totalsOf([silent, spoken]), "seq-mean-token-mean")]).toEqual([0.5, 0.5]);
  });

  test("turn-mean refuses tokens that are in no turn", () => {
    const stray = row("a", "a/0", [1, 1], [{ start: 0, end: 1 }]);
    expect(() => coefficients(stray, totalsOf([stray]), "turn-mean")).toThrow(
      "bad-batch: got 2 tokens with mask 1, 1 of them in turns",
    );
  });
});

/** The row's tokens before `at` and from it on, in two rows that share its weight by their tokens. */
function split(whole: LossRow, at: number): LossRow[] {
  const tokens = whole.mask_T.reduce((sum, m) => sum + m, 0);
  return [
    [0, at],
    [at, whole.mask_T.length],
  ].map(([start, end], index) => {
    const arrays = Object.entries(whole).filter(([, value]) => ArrayBuffer.isView(value));
    const cut = Object.fromEntries(arrays.map(([name, array]) => [name, array.slice(start, end)]));
    const mask_T = whole.mask_T.slice(start, end);
    const share = mask_T.reduce((sum, m) => sum + m, 0) / tokens;
    return { ...whole, ...cut, turns: [], id: `${whole.id}/${index}`, weight: whole.weight * share };
  });
}

describe.each<Aggregation>(["token-mean", "seq-mean-token-mean"])("%s", (aggregation) => {
  test.each([1, 2, 3])("is the same when a rollout is split into rows weighted by their tokens (rows %i)", (seed) => {
    const rng = createRng(seed);
    const whole = randomRows(rng);
    const parts = whole.flatMap((row) =>
      row.mask_T.includes(1) ? split(row, 1 + rng.integer(row.mask_T.length - 1)) : [row],
    );
    expect(parts.length).toBeGreaterThan(whole.length);
    for (const loss of [ppoClip({ aggregation }), imitation({ aggregation })]) {
      const before = loss.compute(whole, totalsOf(whole));
      const after = loss.compute(parts, totalsOf(parts));
      expect(after.loss).toBeCloseTo(before.loss, 12);
      const flat = (derivatives_B_T: readonly Float32Array[]) => derivatives_B_T.flatMap((array_T) => [...array_T]);
      const expected = flat(before.derivatives.logprobs_B_T);
      for (const [index, derivative] of flat(after.derivatives.logprobs_B_T).entries()) {
        expect(derivative).toBeCloseTo(expected[index], 7);
      }
    }
  });
});
