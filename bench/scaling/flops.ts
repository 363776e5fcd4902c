import type { ModelConfig } from "../../src/engine/model/model-config.ts";

// Only what the result needs is counted: two operations per weight and token, and in attention the half of the scores
// that a token may look at. What is computed besides (masked scores, recomputation, softmax, norms) counts as time lost.
// With tied embeddings the matrix that is looked up is also multiplied with, so that every parameter counts once.

/** Scores and weighted values of all tokens of a row, which sees 1, 2, … `length` tokens. */
function rowAttention({ layers, heads, headWidth }: ModelConfig, length: number): number {
  return 2 * layers * heads * headWidth * length * length;
}

/** Forward and backward pass of one row; the backward pass is twice the forward one. */
export function trainRowFlops(config: ModelConfig, parameters: number, length: number): number {
  return 3 * (2 * parameters * length + rowAttention(config, length));
}

/** A prompt, of which only the last token needs the head, and as many new tokens. */
export function sampleRowFlops(config: ModelConfig, parameters: number, length: number): number {
  const head = config.vocabularySize * config.width;
  return 2 * parameters * length - head * length + rowAttention(config, length);
}

/** The tokens from one position to another of a row, of which only those that are sampled need the head. */
export function computedFlops(
  config: ModelConfig,
  parameters: number,
  { from, to, sampled }: { from: number; to: number; sampled: number },
): number {
  const withoutHead = 2 * (parameters - config.vocabularySize * config.width) * (to - from);
  const head = 2 * config.vocabularySize * config.width * sampled;
  return withoutHead + head + rowAttention(config, to) - rowAttention(config, from);
}
