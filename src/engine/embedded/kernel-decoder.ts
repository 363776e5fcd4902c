import type { Decoder, DecodeStep } from "./decoder.ts";
import type { KernelShape } from "./kernels/kernel-shape.ts";
import type { Kernels } from "./kernels/kernels.ts";
import { type PackedProduct, PackedWeights } from "./kernels/packed-weights.ts";
import type { Rotation } from "./rotation.ts";
import { slice, type WeightLayout } from "./weights.ts";

export interface KernelDecoderOptions {
  shape: KernelShape;
  kernels: Kernels;
  panelWidth: number;
  layout: WeightLayout;
  weights(name: string): Float32Array<SharedArrayBuffer>;
}

interface PackedSet {
  packed: PackedWeights;
  isCurrent: boolean;
}

/** Decoding in WebAssembly kernels alone: for models whose products are too small for a session to be fast. */
export class KernelDecoder implements Decoder {
  readonly #options: KernelDecoderOptions;
  readonly #sets = new Map<string, PackedSet>();
  readonly #spare: PackedWeights[] = [];

  constructor(options: KernelDecoderOptions) {
    this.#options = options;
  }

  changed(names: readonly string[]): void {
    for (const name of names) {
      const set = this.#sets.get(name);
      if (set !== undefined) set.isCurrent = false;
    }
  }

  forget(name: string): void {
    const set = this.#sets.get(name);
    if (set !== undefined) this.#spare.push(set.packed);
    this.#sets.delete(name);
  }

  async run(step: DecodeStep): Promise<readonly Float32Array[]> {
    const { shape, kernels } = this.#options;
    const { places } = this.#packed(step.weights);
    const [written, sampled] = [step.tokens.length, step.temperatures.length];
    this.#prepare(step);
    const { at } = kernels;
    for (const [i, layer] of places.layers.entries()) {
      const count = i === places.layers.length - 1 ? sampled : written;
      kernels.norm(layer.inputNorm, written);
      this.#product(layer.projected, at.normal, at.projected, written);
      kernels.rope(layer, written);
      kernels.attend(i, { count, written });
      if (count === 0) return [];
      this.#product(layer.output, at.attended, at.states, count);
      kernels.norm(layer.middleNorm, count);
      this.#product(layer.gateUp, at.normal, at.gateUp, count);
      kernels.gate(count);
      this.#product(layer.down, at.gated, at.states, count);
    }
    kernels.norm(places.norm, sampled);
    this.#product(places.head, at.normal, at.logits, sampled);
    kernels.softmax(sampled);
    const { config, rows } = shape;
    const all = kernels.memory.floats(at.logits, sampled * rows.vocabulary);
    return step.temperatures.map((_, b) =>
      all.subarray(b * rows.vocabulary, b * rows.vocabulary + config.vocabularySize),
    );
  }

  #product(packed: PackedProduct, from: number, to: number, rows: number): void {
    this.#options.kernels.product(packed, this.#options.panelWidth, from, to, rows);
  }

  /** Embeddings, rotations and temperatures of the step. */
  #prepare({ weights, rotation, tokens, positions, lists, temperatures }: DecodeStep): void {
    const { shape, kernels, layout } = this.#options;
    const { memory, at } = kernels;
    const { width } = shape.config;
    memory.integers(at.pageLists, lists.length).set(lists);
    memory.integers(at.positions, positions.length).set(positions);
    const inverse = memory.floats(at.inverseTemperatures, temperatures.length);
    temperatures.forEach((temperature, b) => {
      inverse[b] = 1 / (temperature || 1);
    });
    const embeddings = slice(this.#options.weights(weights), layout.slices[0]);
    const states = memory.floats(at.states, tokens.length * shape.rows.states);
    tokens.forEach((token, t) => {
      states.set(embeddings.subarray(token * width, (token + 1) * width), t * shape.rows.states);
    });
    this.#writeRopeTables(rotation, positions);
  }

  #writeRopeTables({ cos, sin }: Rotation, positions: readonly number[]): void {
    const { shape, kernels } = this.#options;
    const half = shape.config.headWidth / 2;
    const tables = kernels.memory.floats(kernels.at.rotations, positions.length * shape.paddedHeadWidth);
    positions.forEach((position, t) => {
      const [start, end] = [position * half, (position + 1) * half];
      tables.set(cos.subarray(start, end), t * shape.paddedHeadWidth);
      tables.set(sin.subarray(start, end), t * shape.paddedHeadWidth + shape.paddedHalfWidth);
    });
  }

  #packed(name: string): PackedWeights {
    const known = this.#sets.get(name);
    if (known?.isCurrent) return known.packed;
    const packed = known?.packed ?? this.#spare.pop() ?? this.#newPacked();
    packed.pack(this.#options.weights(name));
    this.#sets.set(name, { packed, isCurrent: true });
    return packed;
  }

  #newPacked(): PackedWeights {
    const { shape, kernels, panelWidth, layout } = this.#options;
    const { memory } = kernels;
    const address = memory.demand(PackedWeights.size(shape), "packed weights");
    return new PackedWeights(shape, { memory, panelWidth, slices: layout.slices }, address);
  }
}
