import type { ModelConfig } from "../model/model-config.ts";
import { ropeTables } from "../model/rope.ts";
import { type Feeds, floats } from "./session.ts";

/** Rope tables, cosines and sines, for sequences up to a length. */
export interface Rotation {
  readonly maxLength: number;
  /** `[maxLength, headWidth / 2]` each. */
  readonly cos: Float32Array;
  readonly sin: Float32Array;
  /** The same for a session. */
  readonly feeds: Feeds;
}

/**
 * The rope tables for a sequence of a given length. All lengths share one table, except with longrope, whose frequencies change
 * beyond the original context: such rows are never batched with shorter ones, and a row that grows past that length is prefilled
 * again, so that sampling and training use the same model.
 */
export class Rotations {
  readonly #tables: Rotation[];

  constructor(config: ModelConfig) {
    const { contextLength, rope } = config;
    const limits =
      rope.type === "longrope" && rope.originalContextLength < contextLength
        ? [rope.originalContextLength, contextLength]
        : [contextLength];
    this.#tables = limits.map((maxLength) => {
      const { cos, sin } = ropeTables(config, maxLength);
      const dims = [maxLength, config.headWidth / 2];
      return { maxLength, cos, sin, feeds: { cos: floats(cos, dims), sin: floats(sin, dims) } };
    });
  }

  for(length: number): Rotation {
    return this.#tables.find(({ maxLength }) => length <= maxLength) ?? this.#tables.at(-1)!;
  }
}
