import { createRng } from "../../random.ts";
import { type ModelConfig, type ParameterShape, parameterShapes } from "./model-config.ts";

/** Where each parameter lies in the one flat array that holds a set of weights, a gradient or optimizer state. */
export interface ParameterSlice extends ParameterShape {
  readonly offset: number;
  readonly size: number;
}

export interface WeightLayout {
  readonly slices: readonly ParameterSlice[];
  readonly size: number;
}

export function weightLayout(config: ModelConfig, valueHead: boolean): WeightLayout {
  let size = 0;
  const slices = parameterShapes(config, { valueHead }).map(({ name, shape }) => {
    const slice = { name, shape, offset: size, size: shape.reduce((a, b) => a * b, 1) };
    size += slice.size;
    return slice;
  });
  return { slices, size };
}

/** Memory every compute thread sees: weights are read by all of them and never sent. */
export function sharedFloats(size: number): Float32Array<SharedArrayBuffer> {
  return new Float32Array(new SharedArrayBuffer(size * Float32Array.BYTES_PER_ELEMENT));
}

export function slice(all: Float32Array<SharedArrayBuffer>, { offset, size }: ParameterSlice): Float32Array<SharedArrayBuffer> {
  return all.subarray(offset, offset + size);
}

/** Matrices normal with the config's deviation, norms 1, biases and value head 0: as transformers initialises them. */
export function initialiseWeights(target: Float32Array<SharedArrayBuffer>, layout: WeightLayout, config: ModelConfig, seed: number): void {
  const rng = createRng(seed);
  for (const parameter of layout.slices) {
    const values = slice(target, parameter);
    if (parameter.name.endsWith("norm.weight")) values.fill(1);
    else if (parameter.shape.length === 1 || parameter.name === "value_head.weight") values.fill(0);
    else for (let i = 0; i < values.length; i++) values[i] = rng.normal() * config.initializerRange;
  }
}
