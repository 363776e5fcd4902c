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

/** One table for all lengths, so that a token's numbers are the same whatever its sequence becomes. */
export function rotationOf(config: ModelConfig): Rotation {
  const { contextLength, rope } = config;
  const maxLength = rope.type === "longrope" ? Math.min(rope.originalContextLength, contextLength) : contextLength;
  const { cos, sin } = ropeTables(config, maxLength);
  const dims = [maxLength, config.headWidth / 2];
  return { maxLength, cos, sin, feeds: { cos: floats(cos, dims), sin: floats(sin, dims) } };
}
