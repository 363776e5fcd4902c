import type { Lane, Row } from "./lane.ts";
import type { ModelConfig } from "./model-config.ts";
import { lanes } from "./model-graph.ts";
import { causalMask, type Feeds, floats, hidden, integers } from "./session.ts";

/** Added to the score of the token itself and to those that only fill its lanes. */
const ownMask = floats(new Float32Array(lanes).fill(hidden, 1), [lanes]);

/** Which rows of which lane are computed together, and how many new tokens each may have. */
export interface BatchShape {
  lane: Lane;
  start: number;
  count: number;
  width: number;
  weights: Feeds;
}

/**
 * The inputs of a run over some rows of a lane. Decoding asks for the same rows again and again: the arrays are then filled
 * anew, not made anew.
 */
export class BatchInputs {
  readonly shape: BatchShape;
  readonly feeds: Feeds;
  readonly #generation: number;
  readonly #tokens: Int32Array;
  readonly #positions: Int32Array;
  readonly #inverseTemperatures: Float32Array;
  readonly #pastMask: Float32Array;

  constructor(config: ModelConfig, shape: BatchShape, isEmpty: boolean) {
    const { lane, start, count, width, weights } = shape;
    this.shape = shape;
    this.#generation = isEmpty ? -1 : lane.cache.generation;
    // where nothing is cached yet, a few hidden entries stand for the cache
    const length = isEmpty ? lanes : lane.cache.length;
    const tokens = integers(new Int32Array(count * width), width === 1 ? [count] : [count, width]);
    const positions = integers(new Int32Array(count * width), [count, width]);
    this.#tokens = tokens.words;
    this.#positions = positions.words;
    this.#inverseTemperatures = new Float32Array(count);
    this.#pastMask = new Float32Array(count * length);
    this.feeds = {
      ...weights,
      ...lane.rotation.feeds,
      tokens: tokens.tensor,
      positions: positions.tensor,
      pastMask: floats(this.#pastMask, [count, 1, 1, length]),
      ...(width === 1
        ? { ownMask, inverseTemperature: floats(this.#inverseTemperatures, [count, 1]) }
        : { newMask: floats(causalMask(width), [width, width]) }),
    };
    const nothing = new Float32Array(isEmpty ? count * config.keyValueHeads * length * config.headWidth : 0);
    const dims = [count, config.keyValueHeads, length, config.headWidth];
    for (let layer = 0; layer < config.layers; layer++) {
      const { keys, values } = isEmpty
        ? { keys: nothing, values: nothing }
        : lane.cache.view(layer, start, start + count);
      this.feeds[`keys.${layer}`] = floats(keys, dims);
      this.feeds[`values.${layer}`] = floats(values, dims);
    }
  }

  /** Whether a batch of this shape can use these arrays. */
  fits({ lane, start, count, width, weights }: BatchShape): boolean {
    const own = this.shape;
    return (
      own.lane === lane &&
      own.start === start &&
      own.count === count &&
      own.width === width &&
      own.weights === weights &&
      this.#generation === lane.cache.generation
    );
  }

  /** Writes what the rows lack, up to `ends`; rows that are undefined are padding. */
  fill(rows: readonly (Row | undefined)[], ends: readonly number[]): void {
    const { width, count } = this.shape;
    const length = this.#pastMask.length / count;
    this.#pastMask.fill(hidden);
    for (let b = 0; b < count; b++) {
      const row = rows[b];
      const cached = row?.cached ?? 0;
      const missing = row === undefined ? 0 : ends[b]! - cached;
      for (let s = 0; s < width; s++) {
        const at = 2 * (b * width + s); // every second word: the low ones
        this.#tokens[at] = s < missing ? row!.tokens[cached + s]! : 0;
        this.#positions[at] = s < missing ? cached + s : 0;
      }
      this.#inverseTemperatures[b] = 1 / (row?.answer?.request.temperature || 1);
      this.#pastMask.fill(0, b * length, b * length + cached);
    }
  }
}
