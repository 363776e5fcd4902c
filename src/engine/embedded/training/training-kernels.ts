import { blockRows, rowBlocks } from "./gemm-kernel.ts";
import { floatBytes, stride } from "./kernel-code.ts";
import type { TrainingMemory } from "./training-memory.ts";

/** A matrix in memory: its address, and bytes from a row to the next. */
export interface Matrix {
  at: number;
  row: number;
}

/** The second factor of a product, in panels: its address, and bytes from a panel to the next. */
export interface Panels {
  at: number;
  panel: number;
}

export interface CompiledTraining {
  module: WebAssembly.Module;
  /** Columns of a panel. */
  panelWidth: number;
}

/** Numbers of the first factor that are multiplied with one panel after another: they stay in the processor's cache. */
const cachedNumbers = 64 * 1024;
/** Numbers summed at a time: so much of a panel stays in the nearest cache. */
const cachedInner = 384;

/** A product is computed in parts: from where to where it sums, and how many rows at a time. */
interface ProductPart {
  from: number;
  inner: number;
  rows: number;
}

const knownParts = new Map<number, readonly ProductPart[]>();

/** The parts of a sum of so many numbers. Attention makes thousands of products of a few sizes, so they are made once. */
function partsOf(inner: number): readonly ProductPart[] {
  let parts = knownParts.get(inner);
  if (parts === undefined) {
    parts = makeParts(inner);
    knownParts.set(inner, parts);
  }
  return parts;
}

function makeParts(inner: number): ProductPart[] {
  const count = Math.ceil(inner / cachedInner);
  return Array.from({ length: count }, (_, i) => {
    const [from, end] = [i, i + 1].map((part) => Math.round((part * inner) / count)) as [number, number];
    const rows = Math.max(1, Math.floor(cachedNumbers / (end - from) / blockRows)) * blockRows;
    return { from, inner: end - from, rows };
  });
}

type Kernel = (...numbers: number[]) => void;

/** The kernels of training on one memory. Rows are as long as a multiple of sixteen numbers. */
export class TrainingKernels {
  readonly memory: TrainingMemory;
  readonly panelWidth: number;
  readonly #run: Record<string, Kernel>;
  /** Zeros, sixteen numbers of scratch. */
  readonly #zeros: number;
  readonly #scratch: number;

  constructor({ module, panelWidth }: CompiledTraining, memory: TrainingMemory) {
    this.memory = memory;
    this.panelWidth = panelWidth;
    const { exports } = new WebAssembly.Instance(module, { host: { memory: memory.memory } });
    this.#run = exports as Record<string, Kernel>;
    this.#zeros = memory.take(stride);
    this.#scratch = memory.take(stride);
    memory.floats(this.#zeros, stride).fill(0);
  }

  /** A new matrix of so many columns, a multiple of sixteen. */
  matrix(rows: number, columns: number): Matrix {
    return { at: this.memory.take(rows * columns), row: columns * floatBytes };
  }

  /** out = start + a·b. `start` is a matrix, a bias, or nothing. */
  product(
    a: Matrix,
    b: Panels,
    out: Matrix,
    size: { rows: number; inner: number; columns: number },
    start?: Matrix | { bias: number },
  ): void {
    const panelBytes = this.panelWidth * floatBytes;
    const panels = size.columns / this.panelWidth;
    for (const part of partsOf(size.inner)) {
      const [from, row, panel] = this.#start(part.from === 0 ? start : out);
      for (let first = 0; first < size.rows; first += part.rows) {
        this.#run["gemm rows"](
          a.at + first * a.row + part.from * floatBytes,
          a.row,
          b.at + part.from * panelBytes,
          b.panel,
          from + first * row,
          row,
          panel,
          out.at + first * out.row,
          out.row,
          part.inner,
          panels,
          ...rowBlocks(Math.min(part.rows, size.rows - first)),
        );
      }
    }
  }

  #start(start: Matrix | { bias: number } | undefined): [at: number, row: number, panel: number] {
    const panelBytes = this.panelWidth * floatBytes;
    if (start === undefined) return [this.#zeros, 0, 0];
    return "bias" in start ? [start.bias, 0, panelBytes] : [start.at, start.row, panelBytes];
  }

  /** out += aᵀ·b, where `a` has `inner` rows of which the first `rows` columns count. */
  addTransposed(a: Matrix, b: Panels, out: Matrix, size: { rows: number; inner: number; columns: number }): void {
    const panelBytes = this.panelWidth * floatBytes;
    const panels = size.columns / this.panelWidth;
    for (const part of partsOf(size.inner)) {
      for (let first = 0; first < size.rows; first += part.rows) {
        const to = out.at + first * out.row;
        this.#run["gemm columns"](
          a.at + part.from * a.row + first * floatBytes,
          a.row,
          b.at + part.from * panelBytes,
          b.panel,
          to,
          out.row,
          panelBytes,
          to,
          out.row,
          part.inner,
          panels,
          ...rowBlocks(Math.min(part.rows, size.rows - first)),
        );
      }
    }
  }

  /** Panels of a matrix of `rows` rows, at a place for as many numbers. */
  pack(from: Matrix, to: number, rows: number, columns: number): Panels {
    this.#run.pack(from.at, from.row, to, rows, columns / this.panelWidth);
    return { at: to, panel: rows * this.panelWidth * floatBytes };
  }

  /** Panels of the transpose; rows are filled up with zeros to a multiple of sixteen, for which there must be room. */
  packTransposed(from: Matrix, to: number, rows: number, columns: number): Panels {
    const { panelWidth } = this;
    const whole = Math.floor(rows / panelWidth);
    const panel = columns * panelWidth * floatBytes;
    if (whole > 0) this.#run.transpose(from.at, from.row, to, whole, columns / 4);
    const end = Math.ceil(rows / stride) * (stride / panelWidth);
    if (end > whole) this.memory.floats(to + whole * panel, ((end - whole) * panel) / floatBytes).fill(0);
    for (let row = whole * panelWidth; row < rows; row++) {
      const place = to + whole * panel + (row % panelWidth) * floatBytes;
      this.#run.transposeRow(from.at + row * from.row, place, columns);
    }
    return { at: to, panel };
  }

  copy(from: Matrix, to: Matrix, rows: number, columns: number): void {
    this.#run.copy(from.at, from.row, to.at, to.row, rows, columns / stride);
  }

  add(from: Matrix, to: Matrix, rows: number, columns: number): void {
    this.#run.add(from.at, from.row, to.at, to.row, rows, columns / stride);
  }

  /** Adds the sum over rows to the row `to`. */
  sumRows(from: Matrix, to: number, rows: number, columns: number): void {
    this.#run.sumRows(from.at, from.row, to, rows, columns / stride);
  }

  /** `numbers` has the address of 1 / width and epsilon. */
  norm(from: Matrix, to: Matrix, of: NormOf): void {
    const { weight, inverse, rows, width, numbers } = of;
    this.#run.norm(from.at, from.row, weight, to.at, to.row, inverse, rows, width / stride, numbers, this.#scratch);
  }

  normBackward(
    kind: "onto" | "over",
    from: Matrix,
    gradient: Matrix,
    dx: Matrix,
    of: NormOf & { dWeight: number },
  ): void {
    const { weight, inverse, rows, width, numbers, dWeight } = of;
    this.#run[`normBackward ${kind}`](
      from.at,
      from.row,
      gradient.at,
      gradient.row,
      weight,
      inverse,
      dx.at,
      dx.row,
      dWeight,
      rows,
      width / stride,
      numbers,
      this.#scratch,
    );
  }

  /** Rope of some heads of every row, in place. */
  rotate(kind: "rotate" | "rotateBack", at: Matrix, heads: number, table: Matrix, rows: number): void {
    this.#run[kind](at.at, at.row, heads, table.at, rows, table.row / 2);
  }

  gate(gateUp: Matrix, gated: Matrix, rows: number): void {
    this.#run.gate(gateUp.at, gated.at, rows, gated.row / floatBytes / stride);
  }

  gateBackward(gateUp: Matrix, dGated: Matrix, dGateUp: Matrix, rows: number): void {
    this.#run.gateBackward(gateUp.at, dGated.at, dGateUp.at, rows, dGated.row / floatBytes / stride);
  }

  /** Scores to weights: row i has `first + i` of them, out of `columns`. */
  softmax(scores: Matrix, of: { rows: number; first: number; columns: number; scale: number }): void {
    this.#run.softmax(scores.at, scores.row, of.rows, of.first, of.columns / stride, of.scale, this.#scratch);
  }

  softmaxBackward(weights: Matrix, gradient: Matrix, of: { rows: number; columns: number; scale: number }): void {
    const { rows, columns, scale } = of;
    this.#run.softmaxBackward(weights.at, gradient.at, gradient.row, rows, columns / stride, scale, this.#scratch);
  }

  logits(logits: Matrix, powers: Matrix, of: { rows: number; count: number; scale: number; sums: number }): void {
    const { rows, count, scale, sums } = of;
    const strides = Math.ceil(count / stride);
    this.#run.logits(logits.at, powers.at, logits.row, rows, count, strides, scale, sums, this.#scratch);
  }

  logitsBackward(logits: Matrix, powers: Matrix, of: { rows: number; count: number; coefficients: number }): void {
    const strides = Math.ceil(of.count / stride);
    this.#run.logitsBackward(logits.at, powers.at, logits.row, of.rows, strides, of.coefficients);
  }
}

export interface NormOf {
  weight: number;
  inverse: number;
  rows: number;
  width: number;
  numbers: number;
}
