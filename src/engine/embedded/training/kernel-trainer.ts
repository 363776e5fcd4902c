import { type ModelConfig, valueHeadName } from "../../model/model-config.ts";
import type { Rotation } from "../rotation.ts";
import type { WorkBatch, WorkOptions } from "../training-thread.ts";
import type { WeightLayout } from "../weights.ts";
import { AttentionPass, type AttentionPlan, type HeadStates, planAttention } from "./attention-pass.ts";
import { HeadPass } from "./head-pass.ts";
import { floatBytes } from "./kernel-code.ts";
import { type Chunk, chunksOf } from "./sequences.ts";
import { type CompiledTraining, type Matrix, TrainingKernels } from "./training-kernels.ts";
import { TrainingMemory } from "./training-memory.ts";
import { type LayerWeights, type Linear, type Norm, TrainingWeights } from "./training-weights.ts";

export interface KernelTrainerOptions {
  config: ModelConfig;
  valueHead: boolean;
  layout: WeightLayout;
  rotation: Rotation;
  compiled: CompiledTraining;
}

/** What the forward pass of a layer leaves for the backward pass. */
interface LayerStates {
  input: Matrix;
  inputInverse: number;
  normal: Matrix;
  /** Queries, keys and values, as projected, and with queries and keys after norm and rope: the same memory where they have no norm. */
  projected: Matrix;
  heads: Matrix;
  headInverses: number;
  attended: Matrix;
  /** Attention weights, where they are kept. */
  weights: number | undefined;
  middle: Matrix;
  middleInverse: number;
  middleNormal: Matrix;
  gateUp: Matrix;
  gated: Matrix;
  output: Matrix;
}

/** What all layers of a chunk use. */
interface Shared {
  rows: number;
  plan: AttentionPlan;
  /** Cosines and sines of each token's position. */
  table: Matrix;
}

/** The forward and backward pass of small models in WebAssembly kernels, on one thread. */
export class KernelTrainer {
  readonly #config: ModelConfig;
  readonly #layout: WeightLayout;
  readonly #rotation: Rotation;
  readonly #memory = new TrainingMemory();
  readonly #kernels: TrainingKernels;
  readonly #weights: TrainingWeights;
  readonly #attention: AttentionPass;
  readonly #head: HeadPass;
  /** Addresses of 1 / width and epsilon, for states and for heads. */
  readonly #ofStates: number;
  readonly #ofHeads: number;
  #packed: Float32Array | undefined;

  constructor({ config, valueHead, layout, rotation, compiled }: KernelTrainerOptions) {
    this.#config = config;
    this.#layout = layout;
    this.#rotation = rotation;
    this.#kernels = new TrainingKernels(compiled, this.#memory);
    const numbers = (...values: readonly number[]): number => {
      const at = this.#memory.take(values.length);
      this.#memory.floats(at, values.length).set(values);
      return at;
    };
    this.#ofStates = numbers(1 / config.width, config.normEpsilon);
    this.#ofHeads = numbers(1 / config.headWidth, config.normEpsilon);
    this.#attention = new AttentionPass(this.#kernels, config, numbers(config.headWidth ** -0.5));
    this.#weights = new TrainingWeights(this.#kernels, config, layout);
    this.#head = new HeadPass(
      this.#kernels,
      this.#weights,
      valueHead ? layout.slices.find(({ name }) => name === valueHeadName) : undefined,
    );
  }

  /** Weights have changed: they are read again before they are used. */
  forget(): void {
    this.#packed = undefined;
  }

  /** Adds the gradient of micro-batches to `gradient`, or writes it where `isFirst`. */
  backward(
    all: Float32Array,
    batches: readonly WorkBatch[],
    work: WorkOptions,
    gradient: Float32Array,
    isFirst: boolean,
  ): void {
    this.begin(all);
    for (const batch of batches) this.add(all, batch, work);
    this.finish(gradient, isFirst);
  }

  /** The same in steps, between which a thread can do other things: from a gradient of zeros, */
  begin(all: Float32Array): void {
    if (this.#packed !== all) this.#weights.pack(all);
    this.#packed = all;
    this.#weights.gradient().fill(0);
  }

  /** micro-batch by micro-batch, */
  add(all: Float32Array, batch: WorkBatch, work: WorkOptions): void {
    const mark = this.#memory.mark();
    for (const chunk of chunksOf(batch)) {
      this.#chunk(all, chunk, work);
      this.#memory.release(mark);
    }
  }

  /** to the caller's. */
  finish(gradient: Float32Array, isFirst: boolean): void {
    const own = this.#weights.gradient();
    if (isFirst) gradient.set(own);
    else for (let i = 0; i < own.length; i++) gradient[i] = gradient[i] + own[i];
  }

  #chunk(all: Float32Array, chunk: Chunk, work: WorkOptions): void {
    const { width } = this.#config;
    const rows = chunk.tokens.length;
    const shared: Shared = {
      rows,
      table: this.#rotations(chunk),
      plan: planAttention(chunk.sequences, this.#config),
    };
    const embedded = this.#embed(all, chunk.tokens);
    const layers: LayerStates[] = [];
    for (const weights of this.#weights.layers)
      layers.push(this.#layerForward(weights, layers.at(-1)?.output ?? embedded, shared));
    const last = layers.at(-1)!.output;
    const normal = this.#kernels.matrix(rows, width);
    const inverse = this.#memory.take(rows);
    this.#kernels.norm(last, normal, this.#normOf(this.#weights.norm, inverse, rows));
    const dNormal = this.#head.backward(all, normal, chunk, work);
    const dStates = this.#zeros(rows, width);
    this.#kernels.normBackward("onto", last, dNormal, dStates, this.#normOf(this.#weights.norm, inverse, rows));
    for (const [i, weights] of [...this.#weights.layers.entries()].reverse())
      this.#layerBackward(weights, layers[i], dStates, shared);
    this.#embedBackward(chunk.tokens, dStates);
  }

  #normOf({ weight, dWeight }: Norm, inverse: number, rows: number) {
    return { weight, dWeight, inverse, rows, width: this.#config.width, numbers: this.#ofStates };
  }

  #zeros(rows: number, columns: number): Matrix {
    const matrix = this.#kernels.matrix(rows, columns);
    this.#memory.floats(matrix.at, rows * columns).fill(0);
    return matrix;
  }

  /** The cosines, then the sines, of each token's position. */
  #rotations({ positions }: Chunk): Matrix {
    const half = this.#config.headWidth / 2;
    const table = this.#kernels.matrix(positions.length, 2 * half);
    const to = this.#memory.floats(table.at, positions.length * 2 * half);
    const { cos, sin } = this.#rotation;
    positions.forEach((position, i) => {
      to.set(cos.subarray(position * half, (position + 1) * half), i * 2 * half);
      to.set(sin.subarray(position * half, (position + 1) * half), (i * 2 + 1) * half);
    });
    return table;
  }

  #embed(all: Float32Array, tokens: Int32Array): Matrix {
    const { width } = this.#config;
    const { offset } = this.#embeddings();
    const states = this.#kernels.matrix(tokens.length, width);
    const to = this.#memory.floats(states.at, tokens.length * width);
    tokens.forEach((token, i) => {
      to.set(all.subarray(offset + token * width, offset + (token + 1) * width), i * width);
    });
    return states;
  }

  #embedBackward(tokens: Int32Array, dStates: Matrix): void {
    const { width } = this.#config;
    const { offset } = this.#embeddings();
    const gradient = this.#weights.gradient();
    const from = this.#memory.floats(dStates.at, tokens.length * width);
    tokens.forEach((token, i) => {
      const at = offset + token * width;
      for (let d = 0; d < width; d++) gradient[at + d] = gradient[at + d] + from[i * width + d];
    });
  }

  #embeddings() {
    return this.#layout.slices.find(({ name }) => name === "model.embed_tokens.weight")!;
  }

  #layerForward(weights: LayerWeights, input: Matrix, { rows, plan, table }: Shared): LayerStates {
    const { heads, keyValueHeads, headWidth, width, feedForwardWidth } = this.#config;
    const kernels = this.#kernels;
    const states = (columns: number) => kernels.matrix(rows, columns);
    const [inputInverse, middleInverse] = [this.#memory.take(rows), this.#memory.take(rows)];
    const headInverses = this.#memory.take(rows * (heads + keyValueHeads));
    const normal = states(width);
    kernels.norm(input, normal, this.#normOf(weights.inputNorm, inputInverse, rows));
    const projected = states((heads + 2 * keyValueHeads) * headWidth);
    this.#linear(weights.projected, normal, projected, rows);
    const rotated = weights.queryNorm === undefined ? projected : states((heads + 2 * keyValueHeads) * headWidth);
    this.#headNorms(weights, rows, headInverses, (column, norm) =>
      kernels.norm(column(projected), column(rotated), norm),
    );
    kernels.rotate("rotate", rotated, heads + keyValueHeads, table, rows);
    const attended = states(heads * headWidth);
    const kept = this.#attention.forward(plan, this.#split(rotated, projected), attended);
    const middle = states(width);
    this.#linear(weights.output, attended, middle, rows, input);
    const middleNormal = states(width);
    kernels.norm(middle, middleNormal, this.#normOf(weights.middleNorm, middleInverse, rows));
    const gateUp = states(2 * feedForwardWidth);
    this.#linear(weights.gateUp, middleNormal, gateUp, rows);
    const gated = states(feedForwardWidth);
    kernels.gate(gateUp, gated, rows);
    const output = states(width);
    this.#linear(weights.down, gated, output, rows, middle);
    return {
      input,
      inputInverse,
      normal,
      projected,
      heads: rotated,
      headInverses,
      attended,
      weights: kept,
      middle,
      middleInverse,
      middleNormal,
      gateUp,
      gated,
      output,
    };
  }

  /** `dStates` comes with the derivatives of the layer's output and leaves with those of its input. */
  #layerBackward(weights: LayerWeights, kept: LayerStates, dStates: Matrix, { rows, plan, table }: Shared): void {
    const { heads, keyValueHeads, headWidth, width, feedForwardWidth } = this.#config;
    const kernels = this.#kernels;
    const mark = this.#memory.mark();
    const states = (columns: number) => kernels.matrix(rows, columns);
    const dGated = states(feedForwardWidth);
    this.#linearBackward(weights.down, kept.gated, dStates, dGated, rows);
    const dGateUp = states(2 * feedForwardWidth);
    kernels.gateBackward(kept.gateUp, dGated, dGateUp, rows);
    const dNormal = states(width);
    this.#linearBackward(weights.gateUp, kept.middleNormal, dGateUp, dNormal, rows);
    const middle = this.#normOf(weights.middleNorm, kept.middleInverse, rows);
    kernels.normBackward("onto", kept.middle, dNormal, dStates, middle);
    const dAttended = states(heads * headWidth);
    this.#linearBackward(weights.output, kept.attended, dStates, dAttended, rows);
    const dProjected = this.#zeros(rows, (heads + 2 * keyValueHeads) * headWidth);
    this.#attention.backward(plan, kept.weights, {
      states: this.#split(kept.heads, kept.projected),
      dAttended,
      derivatives: this.#split(dProjected, dProjected),
    });
    kernels.rotate("rotateBack", dProjected, heads + keyValueHeads, table, rows);
    this.#headNorms(weights, rows, kept.headInverses, (column, norm) =>
      kernels.normBackward("over", column(kept.projected), column(dProjected), column(dProjected), norm),
    );
    this.#linearBackward(weights.projected, kept.normal, dProjected, dNormal, rows);
    const input = this.#normOf(weights.inputNorm, kept.inputInverse, rows);
    kernels.normBackward("onto", kept.input, dNormal, dStates, input);
    this.#memory.release(mark);
  }

  #split(queryKeys: Matrix, all: Matrix): HeadStates {
    const { heads, keyValueHeads, headWidth } = this.#config;
    const column = ({ at, row }: Matrix, head: number) => ({ at: at + head * headWidth * floatBytes, row });
    return { query: queryKeys, key: column(queryKeys, heads), value: column(all, heads + keyValueHeads) };
  }

  /** Norms of queries and keys, head by head, where the model has them. */
  #headNorms(
    { queryNorm, keyNorm }: LayerWeights,
    rows: number,
    inverses: number,
    use: (column: (of: Matrix) => Matrix, norm: Parameters<TrainingKernels["normBackward"]>[4]) => void,
  ): void {
    const { heads, keyValueHeads, headWidth: width } = this.#config;
    if (queryNorm === undefined || keyNorm === undefined) return;
    for (let head = 0; head < heads + keyValueHeads; head++) {
      const norm = head < heads ? queryNorm : keyNorm;
      const inverse = inverses + head * rows * floatBytes;
      use(({ at, row }) => ({ at: at + head * width * floatBytes, row }), {
        ...norm,
        inverse,
        rows,
        width,
        numbers: this.#ofHeads,
      });
    }
  }

  /** to = from·Wᵀ, with bias, added to `onto`. */
  #linear({ forward, bias, inputs, outputs }: Linear, from: Matrix, to: Matrix, rows: number, onto?: Matrix): void {
    const size = { rows, inner: inputs, columns: outputs };
    if (bias === undefined) this.#kernels.product(from, forward, to, size, onto);
    else {
      this.#kernels.product(from, forward, to, size, { bias });
      if (onto !== undefined) this.#kernels.add(onto, to, rows, outputs);
    }
  }

  #linearBackward(linear: Linear, from: Matrix, dTo: Matrix, dFrom: Matrix, rows: number): void {
    const { inputs, outputs } = linear;
    this.#kernels.product(dTo, linear.backward, dFrom, { rows, inner: outputs, columns: inputs });
    this.#head.weightGradient(linear, from, dTo, rows);
    if (linear.bias !== undefined) this.#kernels.sumRows(dTo, linear.dBias, rows, outputs);
  }
}

/** Rows of numbers are whole strides of the kernels; all presets and published models of this size are. */
export function canTrainInKernels({ width, feedForwardWidth, headWidth }: ModelConfig): boolean {
  return [width, feedForwardWidth, headWidth].every((size) => size % 16 === 0);
}
