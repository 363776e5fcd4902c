import type { ModelConfig } from "../../model/model-config.ts";
import { floatBytes, stride } from "./kernel-code.ts";
import type { Sequence } from "./sequences.ts";
import type { Matrix, Panels, TrainingKernels } from "./training-kernels.ts";

/** Queries attended at a time: a multiple of a product's block of rows; more would compute more of the future, which is hidden. */
const queryRows = 48;

/** Queries and keys after rope, and values: matrices whose rows have one head after another. */
export interface HeadStates {
  query: Matrix;
  key: Matrix;
  value: Matrix;
}

const padded = (count: number): number => Math.ceil(count / stride) * stride;
const from = ({ at, row }: Matrix, rows: number, columns = 0): Matrix => ({
  at: at + rows * row + columns * floatBytes,
  row,
});

/** Causal attention of sequences, forward and backward. Attention weights are not kept but computed again. */
export class AttentionPass {
  readonly #kernels: TrainingKernels;
  readonly #config: ModelConfig;
  readonly #scale: number;

  /** `scale` is the address of the factor on scores. */
  constructor(kernels: TrainingKernels, config: ModelConfig, scale: number) {
    this.#kernels = kernels;
    this.#config = config;
    this.#scale = scale;
  }

  /** Writes what each head of each token attends to. */
  forward(sequences: readonly Sequence[], states: HeadStates, attended: Matrix): void {
    const { heads, keyValueHeads, headWidth } = this.#config;
    const room = this.#room(sequences);
    const group = heads / keyValueHeads;
    for (const sequence of sequences) {
      for (let shared = 0; shared < keyValueHeads; shared++) {
        const { keys, values, count } = this.#gather(sequence, states, shared, room);
        const keyPanels = this.#kernels.packTransposed(keys, room.keyPanels, count, headWidth);
        const valuePanels = this.#kernels.pack(values, room.valuePanels, count, headWidth);
        for (let head = shared * group; head < (shared + 1) * group; head++) {
          for (const block of blocksOf(sequence)) {
            const query = from(states.query, block.token, head * headWidth);
            this.#weights(query, keyPanels, room.scores, block);
            const out = from(attended, block.token, head * headWidth);
            const size = { rows: block.rows, inner: block.seen, columns: headWidth };
            this.#kernels.product(room.scores, valuePanels, out, size);
          }
        }
      }
    }
  }

  /** Derivatives of queries, keys and values from those of what is attended. Those of keys and values are added to what is there. */
  backward(sequences: readonly Sequence[], states: HeadStates, dAttended: Matrix, derivatives: HeadStates): void {
    const { heads, keyValueHeads } = this.#config;
    const room = this.#room(sequences);
    const group = heads / keyValueHeads;
    for (const sequence of sequences) {
      for (let shared = 0; shared < keyValueHeads; shared++) {
        const read = this.#readBackward(sequence, states, shared, room);
        for (let head = shared * group; head < (shared + 1) * group; head++) {
          for (const block of blocksOf(sequence))
            this.#blockBackward(block, head, read, states, dAttended, derivatives, room);
        }
        this.#scatter(sequence, room.dKeys, derivatives.key, shared);
        this.#scatter(sequence, room.dValues, derivatives.value, shared);
      }
    }
  }

  #readBackward(sequence: Sequence, states: HeadStates, shared: number, room: Room) {
    const { headWidth } = this.#config;
    const { keys, values, count } = this.#gather(sequence, states, shared, room);
    for (const { at } of [room.dKeys, room.dValues]) this.#kernels.memory.floats(at, count * headWidth).fill(0);
    return {
      keysAcross: this.#kernels.packTransposed(keys, room.keyPanels, count, headWidth),
      valuesAcross: this.#kernels.packTransposed(values, room.valuePanels, count, headWidth),
      keys: this.#kernels.pack(keys, room.morePanels, count, headWidth),
    };
  }

  #blockBackward(
    block: Block,
    head: number,
    read: { keysAcross: Panels; valuesAcross: Panels; keys: Panels },
    states: HeadStates,
    dAttended: Matrix,
    derivatives: HeadStates,
    room: Room,
  ): void {
    const { headWidth } = this.#config;
    const { rows, seen, token } = block;
    const kernels = this.#kernels;
    const at = (matrix: Matrix) => from(matrix, token, head * headWidth);
    const [query, given] = [at(states.query), at(dAttended)];
    this.#weights(query, read.keysAcross, room.scores, block);
    const columns = padded(seen);
    kernels.product(given, read.valuesAcross, room.dScores, { rows, inner: headWidth, columns });
    kernels.softmaxBackward(room.scores, room.dScores, { rows, columns, scale: this.#scale });
    kernels.product(room.dScores, read.keys, at(derivatives.query), { rows, inner: seen, columns: headWidth });
    const size = { rows: seen, inner: rows, columns: headWidth };
    kernels.addTransposed(room.scores, kernels.pack(given, room.block, rows, headWidth), room.dValues, size);
    kernels.addTransposed(room.dScores, kernels.pack(query, room.block, rows, headWidth), room.dKeys, size);
  }

  /** Attention weights of a block of queries. */
  #weights(query: Matrix, keys: Panels, scores: Matrix, { rows, seen }: Block): void {
    const columns = padded(seen);
    this.#kernels.product(query, keys, scores, { rows, inner: this.#config.headWidth, columns });
    this.#kernels.softmax(scores, { rows, first: seen - rows + 1, columns, scale: this.#scale });
  }

  /** Keys and values of one head that a sequence sees, one row after another. */
  #gather({ start, length, before }: Sequence, { key, value }: HeadStates, shared: number, room: Room) {
    const { headWidth } = this.#config;
    const column = shared * headWidth;
    for (const [source, target] of [
      [key, room.keys],
      [value, room.values],
    ] as const) {
      this.#kernels.copy(from(source, 0, column), target, before, headWidth);
      this.#kernels.copy(from(source, start, column), from(target, before), length, headWidth);
    }
    return { keys: room.keys, values: room.values, count: before + length };
  }

  #scatter({ start, length, before }: Sequence, gathered: Matrix, to: Matrix, shared: number): void {
    const { headWidth } = this.#config;
    const column = shared * headWidth;
    this.#kernels.add(gathered, from(to, 0, column), before, headWidth);
    this.#kernels.add(from(gathered, before), from(to, start, column), length, headWidth);
  }

  /** Buffers for the longest of some sequences; the caller gives the memory back. */
  #room(sequences: readonly Sequence[]): Room {
    const { headWidth } = this.#config;
    const { memory } = this.#kernels;
    const longest = padded(Math.max(...sequences.map(({ before, length }) => before + length)));
    const matrix = (rows: number, columns: number) => this.#kernels.matrix(rows, columns);
    return {
      keys: matrix(longest, headWidth),
      values: matrix(longest, headWidth),
      dKeys: matrix(longest, headWidth),
      dValues: matrix(longest, headWidth),
      keyPanels: memory.take(longest * headWidth),
      valuePanels: memory.take(longest * headWidth),
      morePanels: memory.take(longest * headWidth),
      block: memory.take(queryRows * headWidth),
      scores: matrix(queryRows, longest),
      dScores: matrix(queryRows, longest),
    };
  }
}

interface Room {
  keys: Matrix;
  values: Matrix;
  dKeys: Matrix;
  dValues: Matrix;
  keyPanels: number;
  valuePanels: number;
  morePanels: number;
  block: number;
  scores: Matrix;
  dScores: Matrix;
}

/** Some queries of a sequence: the first one's token, how many, and how many keys the last of them sees. */
interface Block {
  token: number;
  rows: number;
  seen: number;
}

function blocksOf({ start, length, before }: Sequence): Block[] {
  return Array.from({ length: Math.ceil(length / queryRows) }, (_, i) => {
    const first = i * queryRows;
    const rows = Math.min(queryRows, length - first);
    return { token: start + first, rows, seen: before + first + rows };
  });
}
