import type { ModelConfig } from "./model-config.ts";

const bytesPerFloat = 4;

/** Bytes of one row's keys and values up to a length. */
export function cacheRowBytes(config: ModelConfig, length: number): number {
  return 2 * config.layers * config.keyValueHeads * config.headWidth * length * bytesPerFloat;
}

/**
 * Keys and values of many rows, per layer `[rows, keyValueHeads, length, headWidth]`. ONNX Runtime reads the arrays in place;
 * new entries are written here by us, because every output of a session is copied and these are the largest arrays there are.
 */
export class KeyValueCache {
  readonly #config: ModelConfig;
  #layers: { keys: Float32Array; values: Float32Array }[];
  #generation = 0;
  #rows = 0;
  #length = 0;

  constructor(config: ModelConfig) {
    this.#config = config;
    this.#layers = Array.from({ length: config.layers }, () => ({
      keys: new Float32Array(0),
      values: new Float32Array(0),
    }));
  }

  get rows(): number {
    return this.#rows;
  }

  get length(): number {
    return this.#length;
  }

  /** Raised whenever entries get other places: views made before are then worthless. */
  get generation(): number {
    return this.#generation;
  }

  get bytes(): number {
    return cacheRowBytes(this.#config, this.#length) * this.#rows;
  }

  /** Changes the capacity; keeps the first `used[row]` entries of each row. */
  resize(rows: number, length: number, used: readonly number[]): void {
    if (rows === this.#rows && length === this.#length) return;
    const size = rows * this.#config.keyValueHeads * length * this.#config.headWidth;
    for (const layer of this.#layers) {
      layer.keys = this.#moved(layer.keys, size, length, used);
      layer.values = this.#moved(layer.values, size, length, used);
    }
    this.#rows = rows;
    this.#length = length;
    this.#generation++;
  }

  /** Entries at the places a new length gives them: within the same memory where it suffices, since fresh pages cost most. */
  #moved(from: Float32Array, size: number, length: number, used: readonly number[]): Float32Array {
    const { keyValueHeads, headWidth } = this.#config;
    const isInPlace = size > 0 && size <= from.length && size * 8 > from.length;
    // twice the need: memory that is not touched is not taken
    const to = isInPlace ? from : new Float32Array(size * 2);
    const chunks = used.length * keyValueHeads;
    for (let i = 0; i < chunks; i++) {
      const chunk = length > this.#length ? chunks - 1 - i : i; // growing from the end, shrinking from the front
      const count = used[Math.floor(chunk / keyValueHeads)]! * headWidth;
      const source = chunk * this.#length * headWidth;
      if (isInPlace) to.copyWithin(chunk * length * headWidth, source, source + count);
      else to.set(from.subarray(source, source + count), chunk * length * headWidth);
    }
    return to;
  }

  /** The arrays of rows `first` to `end`, as they lie in memory. */
  view(layer: number, first: number, end: number): { keys: Float32Array; values: Float32Array } {
    const size = this.#config.keyValueHeads * this.#length * this.#config.headWidth;
    const { keys, values } = this.#layers[layer]!;
    return { keys: keys.subarray(first * size, end * size), values: values.subarray(first * size, end * size) };
  }

  /** Writes the first `count` of `stride` new entries of batch row `from` behind the `start` that cache row `row` has. */
  write(
    layer: number,
    row: number,
    start: number,
    fresh: { keys: Float32Array; values: Float32Array },
    from: number,
    stride: number,
    count: number,
  ): void {
    const { keyValueHeads, headWidth } = this.#config;
    const { keys, values } = this.#layers[layer]!;
    for (let head = 0; head < keyValueHeads; head++) {
      const source = (from * keyValueHeads + head) * stride * headWidth;
      const target = ((row * keyValueHeads + head) * this.#length + start) * headWidth;
      const size = count * headWidth;
      if (size <= 64) {
        // a call of `set` costs more than these few numbers
        for (let i = 0; i < size; i++) {
          keys[target + i] = fresh.keys[source + i]!;
          values[target + i] = fresh.values[source + i]!;
        }
      } else {
        keys.set(fresh.keys.subarray(source, source + size), target);
        values.set(fresh.values.subarray(source, source + size), target);
      }
    }
  }

  /** Copies the first `count` entries of a row, from this cache or another. */
  copyRow(from: KeyValueCache, fromRow: number, toRow: number, count: number): void {
    const { keyValueHeads, headWidth } = this.#config;
    this.#layers.forEach((layer, index) => {
      const other = from.#layers[index]!;
      for (let head = 0; head < keyValueHeads; head++) {
        const source = (fromRow * keyValueHeads + head) * from.#length * headWidth;
        const target = (toRow * keyValueHeads + head) * this.#length * headWidth;
        const size = count * headWidth;
        layer.keys.set(other.keys.subarray(source, source + size), target);
        layer.values.set(other.values.subarray(source, source + size), target);
      }
    });
  }
}
