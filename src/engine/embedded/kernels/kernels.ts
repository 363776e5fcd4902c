import { attentionArguments } from "./attention-kernel.ts";
import { scoreFloats } from "./attention-layout.ts";
import type { KernelMemory } from "./kernel-memory.ts";
import type { KernelShape } from "./kernel-shape.ts";
import type { PackedLayer, PackedProduct } from "./packed-weights.ts";
import { productArguments, productName } from "./product-kernel.ts";

const bytes = 4;
/** Rows of a product computed with one panel after another: the states of more would not stay in the processor's cache. */
const productRows = 192;

type Kernel = (...addresses: number[]) => void;

/** Addresses of what a step computes, each of as many rows as a step may have tokens. */
export interface StepBuffers {
  pageLists: number;
  positions: number;
  states: number;
  normal: number;
  projected: number;
  rotations: number;
  attended: number;
  gateUp: number;
  gated: number;
  logits: number;
  inverseTemperatures: number;
  /** Room for the scores of the tokens that a thread attends to at a time, of each thread. */
  scores: number[];
}

export interface KernelsOptions {
  module: WebAssembly.Module;
  memory: KernelMemory;
  /** The most tokens of a step, and the most of them whose logits the kernels compute. */
  stepTokens: number;
  logitRows: number;
  /** How many threads compute a step together. */
  threads?: number;
}

/** The kernels of a further thread, by its number. */
export interface HelperKernelsOptions {
  module: WebAssembly.Module;
  memory: WebAssembly.Memory;
  at: StepBuffers;
  thread: number;
}

/** The kernels of one thread, on buffers that all threads of a step share. */
export class Kernels {
  readonly at: StepBuffers;
  readonly #shape: KernelShape;
  readonly #scores: number;
  readonly #kernels: Record<string, Kernel>;

  constructor(shape: KernelShape, options: KernelsOptions | HelperKernelsOptions) {
    const isHelper = "at" in options;
    this.#shape = shape;
    this.at = isHelper ? options.at : takeBuffers(shape, options);
    this.#scores = this.at.scores[isHelper ? options.thread : 0];
    const memory = isHelper ? options.memory : options.memory.memory;
    const { exports } = new WebAssembly.Instance(options.module, { host: { memory } });
    this.#kernels = exports as Record<string, Kernel>;
  }

  norm(weight: number, rows: number, first = 0): void {
    const offset = first * this.#shape.rows.states * bytes;
    this.#kernels.norm(this.at.states + offset, weight, this.at.normal + offset, rows);
  }

  /** Rotates queries and keys by their positions, after norms of their own where the model has them. */
  rope({ queryNorm, keyNorm }: Pick<PackedLayer, "queryNorm" | "keyNorm">, rows: number, first = 0): void {
    const projected = this.at.projected + first * this.#shape.rows.projected * bytes;
    const rotations = this.at.rotations + first * this.#shape.paddedHeadWidth * bytes;
    this.#kernels.rope(projected, rotations, rows, queryNorm, keyNorm);
  }

  gate(rows: number, first = 0): void {
    const { gateUp, gated } = this.#shape.rows;
    this.#kernels.gate(this.at.gateUp + first * gateUp * bytes, this.at.gated + first * gated * bytes, rows);
  }

  /** Logits to probabilities. */
  softmax(rows: number, first = 0): void {
    const logits = this.at.logits + first * this.#shape.rows.vocabulary * bytes;
    this.#kernels.softmax(logits, this.at.inverseTemperatures + first * bytes, rows, this.#scores);
  }

  /** A product with all panels of the weights, or with some of them. */
  product(
    { product, weights, bias }: PackedProduct,
    panelWidth: number,
    from: number,
    to: number,
    rows: number,
    { first, count: panels } = { first: 0, count: product.columns / panelWidth },
  ): void {
    const kernel = this.#kernels[productName(product.shape)];
    const outStride = product.columns * bytes;
    const columns = first * panelWidth * bytes;
    for (let row = 0; row < rows; row += productRows) {
      const call = {
        states: from + row * product.shape.stride * bytes,
        weights: weights + columns * product.shape.inner,
        out: to + row * outStride + columns,
        bias: bias + columns,
        panels,
        outStride,
      };
      kernel(...productArguments(call, Math.min(productRows, rows - row)));
    }
  }

  /** Attention of one layer: keys and values of `written` tokens go to the cache, then `count` of them attend. */
  attend(layer: number, { count, written, first = 0 }: { count: number; written: number; first?: number }): void {
    const { rows } = this.#shape;
    const call = {
      count,
      written,
      pageLists: this.at.pageLists + first * bytes,
      positions: this.at.positions + first * bytes,
      projected: this.at.projected + first * rows.projected * bytes,
      out: this.at.attended + first * rows.attended * bytes,
      scores: this.#scores,
      layer,
    };
    this.#kernels.attend(...attentionArguments(call));
  }
}

function takeBuffers(shape: KernelShape, { memory, stepTokens, logitRows, threads = 1 }: KernelsOptions): StepBuffers {
  const rows = (size: number, count = stepTokens) => memory.demand(bytes * count * size, "the numbers of a step");
  return {
    pageLists: rows(1),
    positions: rows(1),
    states: rows(shape.rows.states),
    normal: rows(shape.rows.states),
    projected: rows(shape.rows.projected),
    rotations: rows(shape.paddedHeadWidth),
    attended: rows(shape.rows.attended),
    gateUp: rows(shape.rows.gateUp),
    gated: rows(shape.rows.gated),
    logits: rows(shape.rows.vocabulary, logitRows),
    inverseTemperatures: rows(1),
    scores: Array.from({ length: threads }, () => rows(scoreFloats(shape, shape.config.contextLength), 1)),
  };
}
