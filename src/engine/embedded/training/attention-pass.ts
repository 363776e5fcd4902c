import type { ModelConfig } from "../../model/model-config.ts";
import { floatBytes, stride } from "./kernel-code.ts";
import type { Sequence } from "./sequences.ts";
import type { Matrix, Panels, TrainingKernels } from "./training-kernels.ts";

/** Queries attended at a time: a multiple of a product's block of rows; more would compute more of the future, which is hidden. */
const queryRows = 48;

/** Attention weights of a layer beyond so many numbers are computed again in the backward pass instead of being kept. */
const keptNumbers = 2 ** 20;

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

/** Some queries of a sequence: the first one's token, how many, how many keys the last of them sees, and where its weights begin. */
interface Block {
  token: number;
  rows: number;
  seen: number;
  /** Bytes from the first block's, for one head. */
  offset: number;
}

/** What the attention of a chunk is made of. */
export interface AttentionPlan {
  sequences: readonly (Sequence & { blocks: readonly Block[] })[];
  /** Keys of the sequence that sees most, padded. */
  longest: number;
  /** Bytes of the attention weights of one head. */
  headBytes: number;
  keepsWeights: boolean;
}

export function planAttention(sequences: readonly Sequence[], { heads }: ModelConfig): AttentionPlan {
  let headBytes = 0;
  const planned = sequences.map((sequence) => {
    const { start, length, before } = sequence;
    const blocks = Array.from({ length: Math.ceil(length / queryRows) }, (_, i): Block => {
      const first = i * queryRows;
      const rows = Math.min(queryRows, length - first);
      const seen = before + first + rows;
      const offset = headBytes;
      headBytes += rows * padded(seen) * floatBytes;
      return { token: start + first, rows, seen, offset };
    });
    return { ...sequence, blocks };
  });
  const longest = padded(Math.max(...sequences.map(({ before, length }) => before + length)));
  return { sequences: planned, longest, headBytes, keepsWeights: headBytes * heads <= keptNumbers * floatBytes };
}

/** Causal attention of sequences, forward and backward. */
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

  /** Writes what each head of each token attends to; returns the attention weights, where they are kept. */
  forward(plan: AttentionPlan, states: HeadStates, attended: Matrix): number | undefined {
    const { heads, keyValueHeads, headWidth } = this.#config;
    const { memory } = this.#kernels;
    const kept = plan.keepsWeights ? memory.take((plan.headBytes / floatBytes) * heads) : undefined;
    const mark = memory.mark();
    const room = this.#room(plan);
    const group = heads / keyValueHeads;
    for (const sequence of plan.sequences) {
      for (let shared = 0; shared < keyValueHeads; shared++) {
        const { keys, values, count } = this.#gather(sequence, states, shared, room);
        const keyPanels = this.#kernels.packTransposed(keys, room.keyPanels, count, headWidth);
        const valuePanels = this.#kernels.pack(values, room.valuePanels, count, headWidth);
        for (let head = shared * group; head < (shared + 1) * group; head++) {
          for (const block of sequence.blocks) {
            const query = from(states.query, block.token, head * headWidth);
            const scores = weightsOf(
              block,
              kept === undefined ? room.scores : kept + head * plan.headBytes + block.offset,
            );
            this.#weights(query, keyPanels, scores, block);
            const out = from(attended, block.token, head * headWidth);
            this.#kernels.product(scores, valuePanels, out, {
              rows: block.rows,
              inner: block.seen,
              columns: headWidth,
            });
          }
        }
      }
    }
    memory.release(mark);
    return kept;
  }

  /** Derivatives of queries, keys and values from those of what is attended. Those of keys and values are added to what is there. */
  backward(
    plan: AttentionPlan,
    kept: number | undefined,
    { states, dAttended, derivatives }: { states: HeadStates; dAttended: Matrix; derivatives: HeadStates },
  ): void {
    const { heads, keyValueHeads } = this.#config;
    const { memory } = this.#kernels;
    const mark = memory.mark();
    const room = this.#room(plan);
    const group = heads / keyValueHeads;
    for (const sequence of plan.sequences) {
      for (let shared = 0; shared < keyValueHeads; shared++) {
        const read = this.#readBackward(sequence, states, shared, room);
        for (let head = shared * group; head < (shared + 1) * group; head++) {
          for (const block of sequence.blocks) {
            const at = kept === undefined ? room.scores : kept + head * plan.headBytes + block.offset;
            const weights = weightsOf(block, at);
            const query = this.#ofHead(states.query, block, head);
            if (kept === undefined) this.#weights(query, read.keysAcross, weights, block);
            const given = this.#ofHead(dAttended, block, head);
            this.#blockBackward(
              block,
              { weights, query, given, dQuery: this.#ofHead(derivatives.query, block, head) },
              read,
              room,
            );
          }
        }
        this.#scatter(sequence, room.dKeys, derivatives.key, shared);
        this.#scatter(sequence, room.dValues, derivatives.value, shared);
      }
    }
    memory.release(mark);
  }

  #ofHead(matrix: Matrix, { token }: Block, head: number): Matrix {
    return from(matrix, token, head * this.#config.headWidth);
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
    { weights, query, given, dQuery }: { weights: Matrix; query: Matrix; given: Matrix; dQuery: Matrix },
    read: { valuesAcross: Panels; keys: Panels },
    room: Room,
  ): void {
    const { headWidth } = this.#config;
    const { rows, seen } = block;
    const kernels = this.#kernels;
    const columns = padded(seen);
    const dScores = weightsOf(block, room.dScores);
    kernels.product(given, read.valuesAcross, dScores, { rows, inner: headWidth, columns });
    kernels.softmaxBackward(weights, dScores, { rows, columns, scale: this.#scale });
    kernels.product(dScores, read.keys, dQuery, { rows, inner: seen, columns: headWidth });
    const size = { rows: seen, inner: rows, columns: headWidth };
    kernels.addTransposed(weights, kernels.pack(given, room.block, rows, headWidth), room.dValues, size);
    kernels.addTransposed(dScores, kernels.pack(query, room.block, rows, headWidth), room.dKeys, size);
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
  #room({ longest }: AttentionPlan): Room {
    const { headWidth } = this.#config;
    const { memory } = this.#kernels;
    const matrix = () => this.#kernels.matrix(longest, headWidth);
    const panels = () => memory.take(longest * headWidth);
    return {
      ...{ keys: matrix(), values: matrix(), dKeys: matrix(), dValues: matrix() },
      ...{ keyPanels: panels(), valuePanels: panels(), morePanels: panels() },
      block: memory.take(queryRows * headWidth),
      scores: memory.take(queryRows * longest),
      dScores: memory.take(queryRows * longest),
    };
  }
}

function weightsOf({ seen }: Block, at: number): Matrix {
  return { at, row: padded(seen) * floatBytes };
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
  scores: number;
  dScores: number;
}
