import {
  add,
  and,
  type Code,
  fused,
  get,
  integer,
  isDifferent,
  isEqual,
  isLess,
  join,
  type KernelCode,
  type Locals,
  load,
  loadSplat,
  multiply,
  repeatWhile,
  set,
  shiftLeft,
  shiftRight,
  store,
  when,
} from "../kernels/wasm-code.ts";
import { floatBytes, kernel, move, upTo } from "./kernel-code.ts";

/** Rows of a block: with two vectors of eight numbers, or four of four, for each, their sums fill the registers. */
export const blockRows = 6;
/** Products of one number after another that are written out in the loop. */
const unrolled = 4;

const parameters = [
  "a",
  "aStep",
  "b",
  "bPanel",
  "start",
  "startRow",
  "startPanel",
  "out",
  "outRow",
  "inner",
  "panels",
  "rows",
  "many",
  "few",
] as const;

/** How rows are cut into blocks of almost one size: `many` of `rows`, then `few` of one row less. */
export function rowBlocks(count: number): [rows: number, many: number, few: number] {
  const blocks = Math.ceil(count / blockRows);
  const rows = Math.ceil(count / blocks);
  const few = blocks * rows - count;
  return [rows, blocks - few, few];
}

/**
 * out = start + a·b, with b in panels of `panelWidth` columns that lie `[inner, panelWidth]`. `a` is a matrix of rows that lie `aStep` bytes
 * apart, or the transpose of one. `start` is zeros, a bias, or any matrix, also `out`. The sums of a block stay in registers, each one chain
 * of fused products over `inner` from first to last.
 */
export function gemmKernel(of: "rows" | "columns", panelWidth: number): KernelCode {
  return kernel(`gemm ${of}`, parameters, (p, locals) => {
    const { a, b, start, out, panel } = locals.named("integer", "a", "b", "start", "out", "panel");
    const at = { a, b, start, out };
    const oneSize = (rows: number) => {
      const count = add(
        multiply(isEqual(p.rows, integer(rows)), p.many),
        multiply(isEqual(p.rows, integer(rows + 1)), p.few),
      );
      const size = locals.make("integer");
      return join(set(size, count), upTo(locals, get(size), block(of, rows, p, locals, at, panelWidth)));
    };
    const onePanel = join(
      set(a, p.a),
      set(out, add(p.out, multiply(get(panel), integer(panelWidth * floatBytes)))),
      set(start, add(p.start, multiply(get(panel), p.startPanel))),
      ...Array.from({ length: blockRows }, (_, i) => oneSize(blockRows - i)),
      move(b, p.bPanel),
      move(panel, integer(1)),
    );
    return join(set(b, p.b), set(panel, integer(0)), upTo(locals, p.panels, onePanel));
  });
}

/** One block of rows with one panel; moves `a`, `start` and `out` on to the next block. */
function block(
  of: "rows" | "columns",
  rows: number,
  p: Record<(typeof parameters)[number], Code>,
  locals: Locals,
  at: { a: number; b: number; start: number; out: number },
  panelWidth: number,
): Code {
  const vectors = panelWidth / 4;
  const { weights, end } = locals.named("integer", "weights", "end");
  const sums = Array.from({ length: rows }, () => locals.many("vector", vectors));
  const columns = locals.many("vector", vectors);
  const factor = locals.make("vector");
  const from = locals.many("integer", of === "rows" ? rows : 1);
  const number = (r: number, k: number) =>
    of === "rows" ? loadSplat(get(from[r]), k * floatBytes) : loadSplat(get(from[0]), r * floatBytes);
  const oneProduct = (k: number) =>
    join(
      ...columns.map((column, i) => set(column, load(get(weights), (k * panelWidth + i * 4) * floatBytes))),
      ...sums.flatMap((rowSums, r) => [
        set(factor, number(r, k)),
        ...rowSums.map((sum, i) => set(sum, fused(get(factor), get(columns[i]), get(sum)))),
      ]),
      ...(of === "columns" ? [move(from[0], p.aStep)] : []),
    );
  const products = (count: number) =>
    join(
      ...Array.from({ length: count }, (_, k) => oneProduct(k)),
      ...(of === "rows" ? from.map((one) => move(one, integer(count * floatBytes))) : []),
      move(weights, integer(count * panelWidth * floatBytes)),
    );
  const rounds = shiftRight(p.inner, 2);
  return join(
    ...sums.flatMap((rowSums) => [
      ...rowSums.map((sum, i) => set(sum, load(get(at.start), i * 16))),
      move(at.start, p.startRow),
    ]),
    set(from[0], get(at.a)),
    ...from.slice(1).map((one, r) => set(one, add(get(from[r]), p.aStep))),
    set(weights, get(at.b)),
    set(end, add(get(at.b), multiply(rounds, integer(unrolled * panelWidth * floatBytes)))),
    when(isLess(integer(0), rounds), repeatWhile(products(unrolled), isDifferent(get(weights), get(end)))),
    upTo(locals, and(p.inner, unrolled - 1), products(1)),
    // the stores of a row follow one another from one address: that is how V8 finds vectors of eight
    ...sums.flatMap((rowSums) => [
      ...rowSums.map((sum, i) => store(get(at.out), get(sum), i * 16)),
      move(at.out, p.outRow),
    ]),
    of === "rows" ? move(at.a, multiply(p.aStep, integer(rows))) : move(at.a, shiftLeft(integer(rows), 2)),
  );
}
