import type { WorkOptions } from "../training-thread.ts";
import type { ParameterSlice } from "../weights.ts";
import { floatBytes, stride } from "./kernel-code.ts";
import { type Chunk, derivativesOf } from "./sequences.ts";
import type { Matrix, TrainingKernels } from "./training-kernels.ts";
import type { Linear, TrainingWeights } from "./training-weights.ts";

/** From final states to log-probabilities, entropies and values, and back. */
export class HeadPass {
  readonly #kernels: TrainingKernels;
  readonly #weights: TrainingWeights;
  readonly #valueHead: ParameterSlice | undefined;

  constructor(kernels: TrainingKernels, weights: TrainingWeights, valueHead: ParameterSlice | undefined) {
    this.#kernels = kernels;
    this.#weights = weights;
    this.#valueHead = valueHead;
  }

  /** The derivatives of all states of a chunk; zeros where none is wanted. */
  backward(all: Float32Array, states: Matrix, chunk: Chunk, work: WorkOptions): Matrix {
    const { head } = this.#weights;
    const { memory } = this.#kernels;
    const rows = chunk.wanted.length;
    const width = head.inputs;
    const dStates = this.#kernels.matrix(chunk.tokens.length, width);
    const mark = memory.mark();
    const wanted = this.#kernels.matrix(rows, width);
    const dWanted = this.#kernels.matrix(rows, width);
    this.#moveWanted(chunk, states, wanted);
    const dLogits = this.#logitsBackward(wanted, chunk, work);
    this.#kernels.product(dLogits, head.backward, dWanted, { rows, inner: head.outputs, columns: width });
    this.weightGradient(head, wanted, dLogits, rows);
    if (this.#valueHead !== undefined) this.#valuesBackward(all, wanted, dWanted, chunk, work, this.#valueHead);
    const [from, to] = [
      memory.floats(dWanted.at, rows * width),
      memory.floats(dStates.at, chunk.tokens.length * width),
    ];
    to.fill(0);
    // a state of a shared prefix may predict in several rows
    chunk.wanted.forEach(({ state }, i) => {
      for (let d = 0; d < width; d++) to[state * width + d] = to[state * width + d] + from[i * width + d];
    });
    memory.release(mark);
    return dStates;
  }

  /** Adds dToᵀ·from to the gradient of a weight. */
  weightGradient({ inputs, outputs, dWeight }: Linear, from: Matrix, dTo: Matrix, rows: number): void {
    const { memory } = this.#kernels;
    const mark = memory.mark();
    const panels = this.#kernels.pack(from, memory.take(rows * inputs), rows, inputs);
    const out = { at: dWeight, row: inputs * floatBytes };
    this.#kernels.addTransposed(dTo, panels, out, { rows: outputs, inner: rows, columns: inputs });
    memory.release(mark);
  }

  #moveWanted({ wanted }: Chunk, from: Matrix, to: Matrix): void {
    const width = from.row / floatBytes;
    wanted.forEach(({ state }, i) => {
      this.#kernels.copy({ at: from.at + state * from.row, row: 0 }, { at: to.at + i * to.row, row: 0 }, 1, width);
    });
  }

  /**
   * Derivatives of logits. With p = softmax(logits / temperature) and H its entropy, the derivative of the logit j of a log-probability is
   * (1 if j is chosen) - p, of the entropy -p·(log p + H), both over the temperature.
   */
  #logitsBackward(states: Matrix, chunk: Chunk, work: WorkOptions): Matrix {
    const { head } = this.#weights;
    const { memory } = this.#kernels;
    const rows = chunk.wanted.length;
    const count = head.outputs;
    const columns = Math.ceil(count / stride) * stride;
    const [logits, powers] = [this.#kernels.matrix(rows, columns), this.#kernels.matrix(rows, columns)];
    const [sums, scale] = [memory.take(2 * rows), memory.take(1)];
    memory.floats(scale, 1)[0] = 1 / work.temperature;
    this.#kernels.product(states, head.forward, logits, { rows, inner: head.inputs, columns });
    this.#kernels.logits(logits, powers, { rows, count, scale, sums });
    const wanted = chunk.wanted.map((one) => derivativesOf(one, work));
    const numbers = memory.floats(sums, 2 * rows);
    wanted.forEach(({ logprob, entropy, candidates }, i) => {
      const [sum, weighted] = [numbers[2 * i], numbers[2 * i + 1]];
      const given = candidates?.reduce((total, one) => total + one, logprob) ?? logprob;
      // log p = t - log(sum), and H = log(sum) - weighted / sum
      const base = given - (entropy * weighted) / sum;
      numbers[2 * i] = -base / (sum * work.temperature);
      numbers[2 * i + 1] = -entropy / (sum * work.temperature);
    });
    this.#kernels.logitsBackward(logits, powers, { rows, count, coefficients: sums });
    const all = memory.floats(logits.at, rows * columns);
    wanted.forEach(({ chosen, logprob, candidates, candidateTokens }, i) => {
      const at = i * columns;
      all[at + chosen] = all[at + chosen] + logprob / work.temperature;
      candidates?.forEach((one, k) => {
        const place = at + candidateTokens![k];
        all[place] = all[place] + one / work.temperature;
      });
    });
    return logits;
  }

  #valuesBackward(
    all: Float32Array,
    states: Matrix,
    dStates: Matrix,
    chunk: Chunk,
    work: WorkOptions,
    { name, offset, size }: ParameterSlice,
  ): void {
    const { memory } = this.#kernels;
    const rows = chunk.wanted.length;
    const weight = all.subarray(offset, offset + size);
    const dWeight = memory.floats(this.#weights.gradientAt(name), size);
    const [from, to] = [states, dStates].map(({ at }) => memory.floats(at, rows * size)) as [
      Float32Array,
      Float32Array,
    ];
    chunk.wanted.forEach((one, i) => {
      const { value } = derivativesOf(one, work);
      if (value === 0) return;
      for (let d = 0; d < size; d++) {
        const at = i * size + d;
        to[at] = to[at] + value * weight[d];
        dWeight[d] = dWeight[d] + value * from[at];
      }
    });
  }
}
