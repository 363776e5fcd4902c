import {
  add,
  addVector,
  type Code,
  countTo,
  fused,
  get,
  integer,
  isDifferent,
  isEqual,
  isLess,
  join,
  type KernelCode,
  Locals,
  load,
  loadSplat,
  multiply,
  repeatWhile,
  set,
  splat,
  store,
  when,
} from "./wasm-code.ts";

const bytes = 4;
/** Rows of a block: with two vectors of eight numbers, or four of four, for each, their sums fill the registers. */
const blockRows = 6;
/**
 * Up to this many rows are computed with two panels at a time: with one, their few sums wait for their last products. Of two to four
 * panels two were fastest.
 */
const fewRows = 2;
/** Products of one number after another that are written out in the loop. */
const unrolled = 4;

/** What a product of states with packed weights is made for. */
export interface ProductShape {
  /** How many numbers are multiplied and summed, and how far apart the rows of states lie. */
  inner: number;
  stride: number;
  /** Sums begin with a bias; they are added to what is there. */
  bias: boolean;
  onto: boolean;
}

export function productName({ inner, stride, bias, onto }: ProductShape): string {
  return `product ${inner} ${stride}${bias ? " bias" : ""}${onto ? " onto" : ""}`;
}

/** Addresses and counts of a product. */
export interface ProductCall {
  states: number;
  weights: number;
  out: number;
  bias: number;
  /** How many panels there are, and bytes from a row of `out` to the next. */
  panels: number;
  outStride: number;
}

const parameterNames = ["states", "weights", "out", "bias", "panels", "outStride", "rows", "many", "few"] as const;
const parameter = Object.fromEntries(parameterNames.map((name, i) => [name, get(i)])) as Record<
  (typeof parameterNames)[number],
  Code
>;

/** How rows are cut into blocks of almost one size: `many` of `rows`, then `few` of one row less. */
function rowBlocks(count: number): { rows: number; many: number; few: number } {
  const blocks = Math.ceil(count / blockRows);
  const rows = Math.ceil(count / blocks);
  const few = blocks * rows - count;
  return { rows, many: blocks - few, few };
}

/** The arguments of the kernel for so many rows, in its order. */
export function productArguments(call: ProductCall, count: number): number[] {
  const all = { ...call, ...rowBlocks(count) };
  return parameterNames.map((name) => all[name]);
}

/**
 * out = states·weights, weights in panels of `panelWidth` columns that lie `[inner, panelWidth]`. The sums of a block stay in registers;
 * a panel stays in the nearest cache while all blocks use it. Each sum is one chain of fused products over `inner` from first to
 * last, whatever the block, so that a row's numbers do not depend on what other rows there are.
 */
export function productKernel(shape: ProductShape, panelWidth: number): KernelCode {
  const locals = new Locals(parameterNames.length);
  const { panel, block, states, out, weights, bias } = locals.named(
    "integer",
    "panel",
    "block",
    "states",
    "out",
    "weights",
    "bias",
  );
  const work = { states, out, weights, bias, panelWidth };
  const begin = join(
    set(states, parameter.states),
    set(out, add(parameter.out, multiply(get(panel), integer(panelWidth * bytes)))),
  );
  const moveOn = (panels: number) =>
    join(
      set(weights, add(get(weights), integer(panels * shape.inner * panelWidth * bytes))),
      set(bias, add(get(bias), integer(panels * panelWidth * bytes))),
      set(panel, add(get(panel), integer(panels))),
    );
  const oneSize = (rows: number) => {
    const count = add(
      multiply(isEqual(parameter.rows, integer(rows)), parameter.many),
      multiply(isEqual(parameter.rows, integer(rows + 1)), parameter.few),
    );
    const size = locals.make("integer");
    const body = countTo(block, get(size), blockOf({ rows, panels: 1 }, shape, locals, work));
    return join(set(size, count), when(isLess(integer(0), get(size)), body));
  };
  const onePanel = join(begin, ...Array.from({ length: blockRows }, (_, i) => oneSize(blockRows - i)), moveOn(1));
  // so few rows are always one block
  const inPairs = Array.from({ length: fewRows }, (_, i) => {
    const isLeft = isLess(add(get(panel), integer(1)), parameter.panels);
    const pair = join(begin, blockOf({ rows: i + 1, panels: 2 }, shape, locals, work), moveOn(2));
    return when(isEqual(parameter.rows, integer(i + 1)), when(isLeft, repeatWhile(pair, isLeft)));
  });
  const isLeft = isLess(get(panel), parameter.panels);
  const body = join(
    set(weights, parameter.weights),
    set(bias, parameter.bias),
    set(panel, integer(0)),
    ...inPairs,
    when(isLeft, repeatWhile(onePanel, isLeft)),
  );
  return { name: productName(shape), parameters: parameterNames.length, locals, body };
}

interface Work {
  states: number;
  out: number;
  weights: number;
  bias: number;
  panelWidth: number;
}

/** One block of rows with one panel, or several; moves `states` and `out` on to the next block. */
function blockOf(
  { rows, panels }: { rows: number; panels: number },
  shape: ProductShape,
  locals: Locals,
  work: Work,
): Code {
  const inPanel = work.panelWidth / 4;
  const vectors = panels * inPanel;
  const vectorAt = (i: number) => (Math.floor(i / inPanel) * shape.inner * work.panelWidth + (i % inPanel) * 4) * bytes;
  const { from, weights, end, row } = locals.named("integer", "from", "weights", "end", "row");
  const sums = Array.from({ length: rows }, () => locals.many("vector", vectors));
  const columns = locals.many("vector", inPanel);
  const factor = locals.make("vector");
  const panelProduct = (k: number, panel: number) => {
    const place = (i: number) => panel * inPanel + i;
    return join(
      ...columns.map((column, i) => set(column, load(get(weights), k * work.panelWidth * bytes + vectorAt(place(i))))),
      ...sums.flatMap((rowSums, r) => [
        set(factor, loadSplat(get(from), (r * shape.stride + k) * bytes)),
        ...columns.map((column, i) => set(rowSums[place(i)], fused(get(factor), get(column), get(rowSums[place(i)])))),
      ]),
    );
  };
  const oneProduct = (k: number) => join(...Array.from({ length: panels }, (_, panel) => panelProduct(k, panel)));
  const products = (count: number) => join(...Array.from({ length: count }, (_, k) => oneProduct(k)));
  const rounds = Math.floor(shape.inner / unrolled);
  const loop = join(
    set(end, add(get(work.weights), integer(rounds * unrolled * work.panelWidth * bytes))),
    repeatWhile(
      join(
        products(unrolled),
        set(from, add(get(from), integer(unrolled * bytes))),
        set(weights, add(get(weights), integer(unrolled * work.panelWidth * bytes))),
      ),
      isDifferent(get(weights), get(end)),
    ),
  );
  const eachRow = (body: (rowSums: readonly number[]) => readonly Code[], at: number) =>
    sums.flatMap((rowSums) => [...body(rowSums), set(at, add(get(at), parameter.outStride))]);
  const start = (i: number): Code => {
    const biasVector = load(get(work.bias), i * 16);
    const there = load(get(row), i * 16);
    if (shape.onto) return shape.bias ? addVector(there, biasVector) : there;
    return shape.bias ? biasVector : splat(0);
  };
  return join(
    set(row, get(work.out)),
    ...eachRow((rowSums) => rowSums.map((sum, i) => set(sum, start(i))), row),
    set(from, get(work.states)),
    set(weights, get(work.weights)),
    ...(rounds > 0 ? [loop] : []),
    products(shape.inner % unrolled),
    // the stores of a row follow one another from one address: that is how V8 finds vectors of eight
    ...eachRow((rowSums) => rowSums.map((sum, i) => store(get(work.out), get(sum), i * 16)), work.out),
    set(work.states, add(get(work.states), integer(rows * shape.stride * bytes))),
  );
}
