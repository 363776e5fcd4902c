import type { Rotation } from "./rotation.ts";

/** The tokens of a step. A next token is drawn after the first of them, as many as there are temperatures. */
export interface DecodeStep {
  /** The name of the weights. */
  weights: string;
  rotation: Rotation;
  tokens: readonly number[];
  positions: readonly number[];
  /** Addresses of the page lists of their rows. */
  lists: readonly number[];
  temperatures: readonly number[];
}

/**
 * Runs tokens of many rows through the model. Their keys and values go into the pages of their rows, so only new tokens are
 * computed. A token's numbers depend on the tokens before it and on nothing else in the step.
 */
export interface Decoder {
  /** For each temperature the probabilities of the next token; valid until the next call. */
  run(step: DecodeStep): Promise<readonly Float32Array[]>;
  /** The weights of these names have changed. */
  changed(names: readonly string[]): void;
  forget(name: string): void;
}
