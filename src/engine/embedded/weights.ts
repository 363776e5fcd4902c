import { LudusError } from "../../errors.ts";
import { createRng } from "../../random.ts";
import { type ModelConfig, type ParameterShape, parameterShapes, valueHeadName } from "../model/model-config.ts";
import type { NamedTensor, TensorSource } from "../model/safetensors.ts";

/** Where each parameter lies in the one flat array that holds a set of weights, a gradient or optimizer state. */
export interface ParameterSlice extends ParameterShape {
  readonly offset: number;
  readonly size: number;
}

export interface WeightLayout {
  readonly slices: readonly ParameterSlice[];
  /** Parameters that are contiguous and are used as one matrix: views of the same memory, not copies. */
  readonly joined: readonly ParameterSlice[];
  readonly size: number;
}

/** Projections of the same input, which decoding computes in one product. Training gains nothing from that. */
export const joinedProjections = {
  "self_attn.qkv_proj": ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"],
  "mlp.gate_up_proj": ["mlp.gate_proj", "mlp.up_proj"],
} as const;

export function weightLayout(config: ModelConfig, valueHead: boolean): WeightLayout {
  let size = 0;
  const slices = jointOrder(parameterShapes(config, { valueHead })).map(({ name, shape }) => {
    const slice = { name, shape, offset: size, size: shape.reduce((a, b) => a * b, 1) };
    size += slice.size;
    return slice;
  });
  const byName = new Map(slices.map((slice) => [slice.name, slice]));
  const joined: ParameterSlice[] = [];
  for (let layer = 0; layer < config.layers; layer++) {
    for (const [joint, members] of Object.entries(joinedProjections)) {
      for (const kind of ["weight", "bias"]) {
        const parts = members.map((member) => byName.get(`model.layers.${layer}.${member}.${kind}`));
        const [first] = parts;
        if (first === undefined) continue;
        const rows = parts.reduce((sum, part) => sum + part!.shape[0], 0);
        const total = parts.reduce((sum, part) => sum + part!.size, 0);
        joined.push({
          name: `model.layers.${layer}.${joint}.${kind}`,
          shape: [rows, ...first.shape.slice(1)],
          offset: first.offset,
          size: total,
        });
      }
    }
  }
  return { slices, joined, size };
}

/** Weights of joined projections follow each other, then their biases; all else stays where it was. */
function jointOrder(shapes: readonly ParameterShape[]): ParameterShape[] {
  const members: readonly string[] = Object.values(joinedProjections).flat();
  const isJoinedBias = ({ name }: ParameterShape) => members.some((member) => name.endsWith(`.${member}.bias`));
  const ordered: ParameterShape[] = [];
  const biases: ParameterShape[] = [];
  for (const shape of shapes) {
    if (isJoinedBias(shape)) biases.push(shape);
    else {
      const continues = members.some((member) => shape.name.endsWith(`.${member}.weight`));
      if (!continues) ordered.push(...biases.splice(0));
      ordered.push(shape);
    }
  }
  return [...ordered, ...biases];
}

/** Memory every compute thread sees: weights are read by all of them and never sent. */
export function sharedFloats(size: number): Float32Array<SharedArrayBuffer> {
  return new Float32Array(new SharedArrayBuffer(size * Float32Array.BYTES_PER_ELEMENT));
}

export function slice<Numbers extends Float32Array>(all: Numbers, { offset, size }: ParameterSlice): Numbers {
  return all.subarray(offset, offset + size) as Numbers;
}

/** Matrices normal with the config's deviation, norms 1, biases and value head 0: as transformers initialises them. */
export function initialiseWeights(
  target: Float32Array<SharedArrayBuffer>,
  layout: WeightLayout,
  config: ModelConfig,
  seed: number,
): void {
  const rng = createRng(seed);
  for (const parameter of layout.slices) {
    const values = slice(target, parameter);
    if (parameter.name.endsWith("norm.weight")) values.fill(1);
    else if (parameter.shape.length === 1 || parameter.name === valueHeadName) values.fill(0);
    else for (let i = 0; i < values.length; i++) values[i] = rng.normal() * config.initializerRange;
  }
}

/** Copies the tensors of a checkpoint into one flat array. */
export function readWeights(source: TensorSource, layout: WeightLayout): Float32Array<SharedArrayBuffer> {
  const all = sharedFloats(layout.size);
  for (const parameter of layout.slices) {
    // a model saved by another program has no value head: it starts at 0, as a fresh one does
    if (parameter.name === valueHeadName && !source.tensors.has(parameter.name)) continue;
    const data = source.tensor(parameter.name);
    if (data.length !== parameter.size) {
      throw new LudusError("other-model", {
        got: `${parameter.name} with ${data.length} numbers`,
        expected: `${parameter.size}, [${parameter.shape.join(", ")}]`,
      });
    }
    slice(all, parameter).set(data);
  }
  return all;
}

/** The flat array as named tensors; views, not copies. */
export function namedTensors(all: Float32Array, layout: WeightLayout): NamedTensor[] {
  return layout.slices.map((parameter) => ({
    name: parameter.name,
    shape: parameter.shape,
    data: slice(all, parameter),
  }));
}
