import { type AttentionCall, attentionArguments, scoreFloats } from "./attention-kernel.ts";
import type { KernelMemory } from "./kernel-memory.ts";
import type { KernelShape } from "./kernel-shape.ts";
import type { PackedLayer, PackedProduct } from "./packed-weights.ts";
import { productArguments, productName } from "./product-kernel.ts";

const bytes = 4;
/** Rows of a product computed with one panel after another: the states of more would not stay in the processor's cache. */
const productRows = 192;

type Kernel = (...addresses: number[]) => void;

export interface KernelsOptions {
  module: WebAssembly.Module;
  memory: KernelMemory;
  /** The most tokens of a step, and the most of them whose logits the kernels compute. */
  stepTokens: number;
  logitRows: number;
}

/** The kernels of a thread, and the buffers of one step. */
export class Kernels {
  readonly memory: KernelMemory;
  /** Addresses, each of as many rows as a step may have tokens. */
  readonly at: {
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
    scores: number;
  };
  readonly #kernels: Record<string, Kernel>;

  constructor(shape: KernelShape, { module, memory, stepTokens, logitRows }: KernelsOptions) {
    this.memory = memory;
    const rows = (size: number, count = stepTokens) => memory.demand(bytes * count * size, "the numbers of a step");
    this.at = {
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
      scores: rows(scoreFloats(shape, shape.config.contextLength), 1),
    };
    const { exports } = new WebAssembly.Instance(module, { host: { memory: memory.memory } });
    this.#kernels = exports as Record<string, Kernel>;
  }

  norm(weight: number, rows: number): void {
    this.#kernels.norm(this.at.states, weight, this.at.normal, rows);
  }

  /** Rotates queries and keys by their positions, after norms of their own where the model has them. */
  rope({ queryNorm, keyNorm }: Pick<PackedLayer, "queryNorm" | "keyNorm">, rows: number): void {
    this.#kernels.rope(this.at.projected, this.at.rotations, rows, queryNorm, keyNorm);
  }

  gate(rows: number): void {
    this.#kernels.gate(this.at.gateUp, this.at.gated, rows);
  }

  /** Logits to probabilities. */
  softmax(rows: number): void {
    this.#kernels.softmax(this.at.logits, this.at.inverseTemperatures, rows, this.at.scores);
  }

  product({ product, weights, bias }: PackedProduct, panelWidth: number, from: number, to: number, rows: number): void {
    const kernel = this.#kernels[productName(product.shape)];
    const outStride = product.columns * bytes;
    for (let first = 0; first < rows; first += productRows) {
      const [states, out] = [from + first * product.shape.stride * bytes, to + first * outStride];
      const call = { states, weights, out, bias, panels: product.columns / panelWidth, outStride };
      kernel(...productArguments(call, Math.min(productRows, rows - first)));
    }
  }

  /** Attention of one layer: keys and values of `written` tokens go to the cache, the first `count` of them attend. */
  attend(layer: number, tokens: Pick<AttentionCall, "count" | "written">): void {
    const { pageLists, positions, projected, attended: out, scores } = this.at;
    this.#kernels.attend(...attentionArguments({ ...tokens, pageLists, positions, projected, out, scores, layer }));
  }
}
