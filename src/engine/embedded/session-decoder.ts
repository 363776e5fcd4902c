import type { Decoder, DecodeStep } from "./decoder.ts";
import type { KernelMemory } from "./kernels/kernel-memory.ts";
import { type KernelShape, offsetInHead } from "./kernels/kernel-shape.ts";
import type { Kernels } from "./kernels/kernels.ts";
import { type Feeds, floats, integers, type Session } from "./session.ts";

export interface SessionDecoderOptions {
  shape: KernelShape;
  kernels: Kernels;
  memory: KernelMemory;
  /** The pieces of the model, cut at each attention. */
  pieces: readonly Session[];
  weights(name: string): Feeds;
}

/** Decoding in ONNX Runtime, which splits the products of large models over all cores; attention is a WebAssembly kernel. */
export class SessionDecoder implements Decoder {
  readonly #options: SessionDecoderOptions;

  constructor(options: SessionDecoderOptions) {
    this.#options = options;
  }

  // weights are inputs of the sessions: there is nothing to keep
  changed(): void {}

  forget(): void {}

  async run(step: DecodeStep): Promise<readonly Float32Array[]> {
    const { shape, pieces, kernels, memory } = this.#options;
    const { width, layers, heads, headWidth, vocabularySize } = shape.config;
    // a product with one row takes another path in ONNX Runtime and rounds differently: there are always two
    const twice = <Item>(items: readonly Item[]) => (items.length === 1 ? [items[0]!, items[0]!] : items);
    const [tokens, positions, lists, temperatures] = [
      twice(step.tokens),
      twice(step.positions),
      twice(step.lists),
      twice(step.temperatures),
    ];
    const [written, sampled] = [tokens.length, Math.min(tokens.length, temperatures.length)];
    memory.integers(kernels.at.pageLists, written).set(lists);
    memory.integers(kernels.at.positions, written).set(positions);
    const { rotation } = step;
    const feeds: Feeds = {
      ...this.#options.weights(step.weights),
      ...rotation.feeds,
      tokens: integers(tokens, [written]).tensor,
      positions: integers(positions, [written, 1]).tensor,
    };
    for (let layer = 0; layer < layers; layer++) {
      const output = await pieces[layer].run(feeds);
      const count = layer === layers - 1 ? sampled : written;
      this.#writeProjected(output.queryKeys.data as Float32Array, output.values.data as Float32Array, written);
      kernels.attend(layer, { count, written });
      if (count === 0) return [];
      const states = output.newStates.data as Float32Array;
      feeds.states = floats(states.subarray(0, count * width), [count, width]);
      feeds.attended = floats(this.#readAttended(count), [count, heads * headWidth]);
    }
    feeds.inverseTemperature = floats(
      Float32Array.from(temperatures, (temperature) => 1 / (temperature || 1)),
      [sampled, 1],
    );
    const { probabilities } = await pieces[layers].run(feeds);
    const all = probabilities.data as Float32Array;
    return step.temperatures.map((_, b) => all.subarray(b * vocabularySize, (b + 1) * vocabularySize));
  }

  #writeProjected(queryKeys: Float32Array, values: Float32Array, count: number): void {
    const { shape, kernels, memory } = this.#options;
    const { heads, keyValueHeads } = shape.config;
    const rows = memory.floats(kernels.at.projected, count * shape.rows.projected);
    copyHeads(shape, { from: queryKeys, to: rows, count, heads: heads + keyValueHeads, first: 0 });
    copyHeads(shape, { from: values, to: rows, count, heads: keyValueHeads, first: heads + keyValueHeads });
  }

  #readAttended(count: number): Float32Array {
    const { shape, kernels, memory } = this.#options;
    const { heads, headWidth } = shape.config;
    const rows = memory.floats(kernels.at.attended, count * shape.rows.attended);
    const size = heads * headWidth;
    if (size === shape.rows.attended) return rows;
    const out = new Float32Array(count * size);
    for (let i = 0; i < out.length; i++) {
      const [row, head, d] = [Math.floor(i / size), Math.floor((i % size) / headWidth), i % headWidth];
      out[i] = rows[row * shape.rows.attended + head * shape.paddedHeadWidth + offsetInHead(shape, d)];
    }
    return out;
  }
}

/** Copies rows of heads into rows of projections, where each head is padded. */
function copyHeads(
  shape: KernelShape,
  {
    from,
    to,
    count,
    heads,
    first,
  }: { from: Float32Array; to: Float32Array; count: number; heads: number; first: number },
): void {
  const { paddedHeadWidth, config, rows } = shape;
  const size = heads * config.headWidth;
  for (let row = 0; row < count; row++) {
    const start = row * rows.projected + first * paddedHeadWidth;
    if (paddedHeadWidth === config.headWidth) to.set(from.subarray(row * size, (row + 1) * size), start);
    else {
      for (let i = 0; i < size; i++) {
        const head = Math.floor(i / config.headWidth);
        to[start + head * paddedHeadWidth + offsetInHead(shape, i % config.headWidth)] = from[row * size + i];
      }
    }
  }
}
