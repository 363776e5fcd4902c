import { defined } from "../../defined.ts";
import type { Alternatives, Derivatives, Forward, TokenRow } from "../engine.ts";
import type { RowDerivatives, RowNumbers, WorkRow } from "./training-thread.ts";

/** The positions of a row that numbers are wanted at. */
export function wantedPositions(row: TokenRow): Int32Array {
  const positions: number[] = [];
  for (let t = 1; t < row.tokens.length; t++) if (row.mask === undefined || row.mask[t]) positions.push(t);
  return Int32Array.from(positions);
}

function atPositions(values: Int32Array | Float32Array, positions: Int32Array, width: number): number[] {
  const picked: number[] = [];
  for (const t of positions) for (let k = 0; k < width; k++) picked.push(values[t * width + k]);
  return picked;
}

export function forwardRow(row: TokenRow): WorkRow {
  const wanted = wantedPositions(row);
  const { candidates } = row;
  return {
    tokens: Int32Array.from(row.tokens).subarray(0, (wanted.at(-1) ?? 0) + 1),
    wanted,
    ...defined({
      candidates:
        candidates === undefined
          ? undefined
          : Int32Array.from(atPositions(candidates.tokens, wanted, candidates.count)),
    }),
  };
}

/** A row for the backward pass: only positions with a derivative. Undefined when there are none, and the row costs nothing. */
export function backwardRow(row: TokenRow, b: number, derivatives: Derivatives): WorkRow | undefined {
  const count = row.candidates?.count ?? 0;
  const parts = {
    logprobs: derivatives.logprobs_B_T?.[b],
    entropies: derivatives.entropies_B_T?.[b],
    values: derivatives.values_B_T?.[b],
    candidates: derivatives.candidates_B_T?.[b],
  };
  const isNonZero = (t: number) =>
    [parts.logprobs, parts.entropies, parts.values].some((part) => part !== undefined && part[t] !== 0) ||
    (parts.candidates?.subarray(t * count, (t + 1) * count).some((value) => value !== 0) ?? false);
  const wanted = wantedPositions(row).filter(isNonZero);
  if (wanted.length === 0) return undefined;
  const cut = (part: Float32Array, width: number) => Float32Array.from(atPositions(part, wanted, width));
  const rowDerivatives: RowDerivatives = {
    logprobs: parts.logprobs === undefined ? new Float32Array(wanted.length) : cut(parts.logprobs, 1),
  };
  if (parts.entropies !== undefined) rowDerivatives.entropies = cut(parts.entropies, 1);
  if (parts.values !== undefined) rowDerivatives.values = cut(parts.values, 1);
  if (parts.candidates !== undefined) rowDerivatives.candidates = cut(parts.candidates, count);
  return {
    tokens: Int32Array.from(row.tokens).subarray(0, wanted.at(-1)! + 1),
    wanted,
    derivatives: rowDerivatives,
    ...defined({
      candidates:
        row.candidates === undefined ? undefined : Int32Array.from(atPositions(row.candidates.tokens, wanted, count)),
    }),
  };
}

/** Numbers at wanted positions, spread over the whole row; 0 elsewhere. */
function spread(values: Float32Array | undefined, wanted: Int32Array, length: number, width = 1): Float32Array {
  const all = new Float32Array(length * width);
  if (values === undefined) return all;
  wanted.forEach((t, i) => {
    all.set(values.subarray(i * width, (i + 1) * width), t * width);
  });
  return all;
}

export type ForwardNumbers = Omit<Forward, "id" | "policyVersion">;

/** What a forward pass gives back, from the numbers of each row. */
export function joinNumbers(
  rows: readonly TokenRow[],
  numbers: readonly (RowNumbers | undefined)[],
  options: { values: boolean; alternatives: number },
): ForwardNumbers {
  const wanted_B = rows.map(wantedPositions);
  const each = (pick: (row: RowNumbers) => Float32Array | undefined, width = 1) =>
    rows.map((row, b) => spread(numbers[b] && pick(numbers[b]), wanted_B[b], row.tokens.length, width));
  const count = rows[0].candidates?.count ?? 0;
  return {
    logprobs_B_T: each((row) => row.logprobs),
    entropies_B_T: each((row) => row.entropies),
    ...defined({
      values_B_T: options.values ? each((row) => row.values) : undefined,
      candidates_B_T: count > 0 ? each((row) => row.candidates, count) : undefined,
      alternatives_B_T:
        options.alternatives > 0
          ? rows.map((row, b) => spreadAlternatives(numbers[b], wanted_B[b], row.tokens.length, options.alternatives))
          : undefined,
    }),
  };
}

function spreadAlternatives(
  numbers: RowNumbers | undefined,
  wanted: Int32Array,
  length: number,
  count: number,
): Alternatives {
  const tokens = new Int32Array(length * count);
  wanted.forEach((t, i) => {
    tokens.set(numbers!.alternatives!.tokens.subarray(i * count, (i + 1) * count), t * count);
  });
  return { count, tokens, logprobs: spread(numbers?.alternatives?.logprobs, wanted, length, count) };
}
