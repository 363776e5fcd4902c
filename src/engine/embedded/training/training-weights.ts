import type { ModelConfig } from "../../model/model-config.ts";
import type { ParameterSlice, WeightLayout } from "../weights.ts";
import { floatBytes, stride } from "./kernel-code.ts";
import type { Panels, TrainingKernels } from "./training-kernels.ts";

/** A product of the model, x·Wᵀ + b, with W `[outputs, inputs]`. */
export interface Linear {
  name: string;
  inputs: number;
  outputs: number;
  /** W as the forward and the backward pass read it. */
  forward: Panels;
  backward: Panels;
  /** Address of the bias, and of the gradients of weight and bias. */
  bias: number | undefined;
  dWeight: number;
  dBias: number;
}

export interface Norm {
  weight: number;
  dWeight: number;
}

export interface LayerWeights {
  inputNorm: Norm;
  queryNorm: Norm | undefined;
  keyNorm: Norm | undefined;
  projected: Linear;
  output: Linear;
  middleNorm: Norm;
  gateUp: Linear;
  down: Linear;
}

/** The weights of a model in the memory of training kernels, and the gradient, which is laid out as weights are everywhere. */
export class TrainingWeights {
  readonly layers: readonly LayerWeights[];
  readonly norm: Norm;
  readonly head: Linear;
  readonly #kernels: TrainingKernels;
  readonly #slices: ReadonlyMap<string, ParameterSlice>;
  readonly #linears: Linear[] = [];
  readonly #vectors: { at: number; slice: ParameterSlice }[] = [];
  readonly #gradient: number;
  readonly #size: number;

  constructor(kernels: TrainingKernels, config: ModelConfig, layout: WeightLayout) {
    this.#kernels = kernels;
    this.#slices = new Map([...layout.slices, ...layout.joined].map((slice) => [slice.name, slice]));
    this.#size = layout.size;
    this.#gradient = kernels.memory.take(layout.size);
    this.layers = Array.from({ length: config.layers }, (_, i) => {
      const at = `model.layers.${i}`;
      const headNorm = (name: string) =>
        config.queryKeyNorm ? this.#norm(`${at}.self_attn.${name}_norm.weight`) : undefined;
      return {
        inputNorm: this.#norm(`${at}.input_layernorm.weight`),
        queryNorm: headNorm("q"),
        keyNorm: headNorm("k"),
        projected: this.#linear(`${at}.self_attn.qkv_proj`),
        output: this.#linear(`${at}.self_attn.o_proj`),
        middleNorm: this.#norm(`${at}.post_attention_layernorm.weight`),
        gateUp: this.#linear(`${at}.mlp.gate_up_proj`),
        down: this.#linear(`${at}.mlp.down_proj`),
      };
    });
    this.norm = this.#norm("model.norm.weight");
    this.head = this.#linear(config.tiedEmbeddings ? "model.embed_tokens" : "lm_head");
  }

  /** Bytes that the weights of a model take here. */
  static bytes(layout: WeightLayout): number {
    return 3 * layout.size * floatBytes;
  }

  #linear(name: string): Linear {
    const { memory } = this.#kernels;
    const [outputs, inputs] = this.#slices.get(`${name}.weight`)!.shape as [number, number];
    const bias = this.#slices.get(`${name}.bias`);
    const panel = inputs * this.#kernels.panelWidth * floatBytes;
    const linear: Linear = {
      name,
      inputs,
      outputs,
      forward: { at: memory.take(inputs * Math.ceil(outputs / stride) * stride), panel },
      backward: { at: memory.take(inputs * outputs), panel: outputs * this.#kernels.panelWidth * floatBytes },
      bias: bias && this.#vector(bias),
      dWeight: this.gradientAt(`${name}.weight`),
      dBias: bias === undefined ? 0 : this.gradientAt(`${name}.bias`),
    };
    this.#linears.push(linear);
    return linear;
  }

  #norm(name: string): Norm {
    return { weight: this.#vector(this.#slices.get(name)!), dWeight: this.gradientAt(name) };
  }

  #vector(slice: ParameterSlice): number {
    const at = this.#kernels.memory.take(slice.size);
    this.#vectors.push({ at, slice });
    return at;
  }

  gradientAt(name: string): number {
    return this.#gradient + this.#slices.get(name)!.offset * floatBytes;
  }

  /** The gradient of all parameters; a view until memory is taken. */
  gradient(): Float32Array {
    return this.#kernels.memory.floats(this.#gradient, this.#size);
  }

  /** Copies the weights to where the products read them. */
  pack(all: Float32Array): void {
    const { memory } = this.#kernels;
    const mark = memory.mark();
    for (const { at, slice } of this.#vectors)
      memory.floats(at, slice.size).set(all.subarray(slice.offset, slice.offset + slice.size));
    const room = memory.take(Math.max(...this.#linears.map(({ inputs, outputs }) => inputs * outputs)));
    for (const { name, inputs, outputs, forward, backward } of this.#linears) {
      const { offset, size } = this.#slices.get(`${name}.weight`)!;
      memory.floats(room, size).set(all.subarray(offset, offset + size));
      const matrix = { at: room, row: inputs * floatBytes };
      this.#kernels.packTransposed(matrix, forward.at, outputs, inputs);
      this.#kernels.pack(matrix, backward.at, outputs, inputs);
    }
    memory.release(mark);
  }
}
