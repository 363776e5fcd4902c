import type { ModelConfig } from "../../model/model-config.ts";

/** Rows of numbers are as long as a multiple of this, with zeros behind what counts. */
const rowMultiple = 16;

export function paddedRow(size: number): number {
  return Math.ceil(size / rowMultiple) * rowMultiple;
}

/**
 * A model as the kernels see it. Heads take `paddedHeadWidth` numbers: each half, which rope rotates against the other, is padded with zeros
 * to whole vectors. `rows` are the lengths of rows in memory: of states, of queries, keys and values together, of what attention
 * gives, of gate and up together, of one of them, and of the vocabulary.
 */
export interface KernelShape {
  readonly config: ModelConfig;
  readonly paddedHalfWidth: number;
  readonly paddedHeadWidth: number;
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
  const paddedHalfWidth = Math.ceil(headWidth / 8) * 4;
  const paddedHeadWidth = 2 * paddedHalfWidth;
  return {
    config,
    paddedHalfWidth,
    paddedHeadWidth,
    rows: {
      states: paddedRow(width),
      projected: paddedRow((heads + 2 * keyValueHeads) * paddedHeadWidth),
      attended: paddedRow(heads * paddedHeadWidth),
      gateUp: 2 * paddedRow(feedForwardWidth),
      gated: paddedRow(feedForwardWidth),
      vocabulary: paddedRow(vocabularySize),
    },
  };
}

/** The offset of number `d` of a head, which is padded in two halves. */
export function offsetInHead({ config, paddedHalfWidth }: KernelShape, d: number): number {
  const half = config.headWidth / 2;
  return d < half ? d : paddedHalfWidth + d - half;
}
