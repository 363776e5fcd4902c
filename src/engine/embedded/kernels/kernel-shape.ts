import type { ModelConfig } from "../../model/model-config.ts";

/** Rows of numbers are as long as a multiple of this, with zeros behind what counts. */
const rowMultiple = 16;

export function paddedRow(size: number): number {
  return Math.ceil(size / rowMultiple) * rowMultiple;
}

/**
 * A model as the kernels see it. Heads take `headRoom` numbers: each half, which rope turns against the other, is filled up with zeros
 * to whole vectors. `rows` are the lengths of rows in memory: of states, of queries, keys and values together, of what attention
 * gives, of gate and up together, of one of them, and of the vocabulary.
 */
export interface KernelShape {
  readonly config: ModelConfig;
  readonly halfRoom: number;
  readonly headRoom: number;
  readonly rows: {
    readonly states: number;
    readonly projected: number;
    readonly attended: number;
    readonly gateUp: number;
    readonly gated: number;
    readonly vocabulary: number;
  };
}

export function kernelShape(config: ModelConfig): KernelShape {
  const { heads, keyValueHeads, headWidth, width, feedForwardWidth, vocabularySize } = config;
  const halfRoom = Math.ceil(headWidth / 8) * 4;
  const headRoom = 2 * halfRoom;
  return {
    config,
    halfRoom,
    headRoom,
    rows: {
      states: paddedRow(width),
      projected: paddedRow((heads + 2 * keyValueHeads) * headRoom),
      attended: paddedRow(heads * headRoom),
      gateUp: 2 * paddedRow(feedForwardWidth),
      gated: paddedRow(feedForwardWidth),
      vocabulary: paddedRow(vocabularySize),
    },
  };
}

/** Where number d of a head lies in its room. */
export function placeInHead({ config, halfRoom }: KernelShape, d: number): number {
  const half = config.headWidth / 2;
  return d < half ? d : halfRoom + d - half;
}
