import { stagesOf } from "./decode-stages.ts";
import { DecodeTeam } from "./decode-team.ts";
import type { Decoder, DecodeStep } from "./decoder.ts";
import type { CompiledKernels } from "./kernels/compile-kernels.ts";
import type { KernelMemory } from "./kernels/kernel-memory.ts";
import type { KernelShape } from "./kernels/kernel-shape.ts";
import type { Kernels } from "./kernels/kernels.ts";
import { PackedWeights } from "./kernels/packed-weights.ts";
import type { Rotation } from "./rotation.ts";
import { slice, type WeightLayout } from "./weights.ts";

export interface KernelDecoderOptions {
  shape: KernelShape;
  compiled: CompiledKernels;
  memory: KernelMemory;
  kernels: Kernels;
  /** How many threads compute a step together. */
  threads: number;
  layout: WeightLayout;
  weights(name: string): Float32Array<SharedArrayBuffer>;
}

interface PackedSet {
  packed: PackedWeights;
  isCurrent: boolean;
}

/** Decoding in WebAssembly kernels alone, on this thread or, where the model is large, on several together. */
export class KernelDecoder implements Decoder {
  readonly #options: KernelDecoderOptions;
  readonly #sets = new Map<string, PackedSet>();
  readonly #spare: PackedWeights[] = [];
  readonly #team: DecodeTeam;

  constructor(options: KernelDecoderOptions) {
    this.#options = options;
    const { shape, compiled, memory, kernels, threads } = options;
    const { panelWidth } = compiled;
    const setup = { config: shape.config, kernels: compiled, memory: memory.memory, at: kernels.at, threads };
    this.#team = new DecodeTeam(setup, stagesOf({ shape, kernels, panelWidth, threads }));
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
    const { shape, kernels, memory } = this.#options;
    const { address } = this.#packed(step.weights);
    const [written, sampled] = [step.tokens.length, step.temperatures.length];
    this.#prepare(step);
    this.#team.run({ weights: address, written, sampled });
    const { config, rows } = shape;
    const all = memory.floats(kernels.at.logits, sampled * rows.vocabulary);
    return step.temperatures.map((_, b) =>
      all.subarray(b * rows.vocabulary, b * rows.vocabulary + config.vocabularySize),
    );
  }

  /** Embeddings, rotations and temperatures of the step. */
  #prepare({ weights, rotation, tokens, positions, lists, temperatures }: DecodeStep): void {
    const { shape, kernels, memory, layout } = this.#options;
    const { at } = kernels;
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
    const { shape, kernels, memory } = this.#options;
    const half = shape.config.headWidth / 2;
    const tables = memory.floats(kernels.at.rotations, positions.length * shape.paddedHeadWidth);
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
    const { shape, memory, compiled, layout } = this.#options;
    const address = memory.demand(PackedWeights.size(shape), "packed weights");
    return new PackedWeights(shape, { memory, panelWidth: compiled.panelWidth, slices: layout.slices }, address);
  }
}
