import type { ParameterSlice } from "../weights.ts";
import type { KernelMemory } from "./kernel-memory.ts";
import { type KernelShape, offsetInHead } from "./kernel-shape.ts";
import { type ModelProduct, modelProducts } from "./model-products.ts";

/** Where a product's panels and bias begin. */
export interface PackedProduct {
  product: ModelProduct;
  weights: number;
  bias: number;
}

/** Addresses of the weights of a layer. Norms of queries and keys are only there where the model has them. */
export interface PackedLayer {
  inputNorm: number;
  queryNorm: number;
  keyNorm: number;
  projected: PackedProduct;
  output: PackedProduct;
  middleNorm: number;
  gateUp: PackedProduct;
  down: PackedProduct;
}

export interface PackedPlaces {
  layers: PackedLayer[];
  norm: number;
  head: PackedProduct;
}

const bytes = 4;

/** A set of weights as the products read them: panel behind panel. Written again when the weights have changed. */
export class PackedWeights {
  readonly address: number;
  readonly places: PackedPlaces;
  readonly #shape: KernelShape;
  readonly #panelWidth: number;
  readonly #memory: KernelMemory;
  readonly #slices: ReadonlyMap<string, ParameterSlice>;

  constructor(
    shape: KernelShape,
    { memory, panelWidth, slices }: { memory: KernelMemory; panelWidth: number; slices: readonly ParameterSlice[] },
    address: number,
  ) {
    this.#shape = shape;
    this.#panelWidth = panelWidth;
    this.#memory = memory;
    this.#slices = new Map(slices.map((slice) => [slice.name, slice]));
    this.address = address;
    this.places = packedPlaces(shape, address);
  }

  static size(shape: KernelShape): number {
    return layOut(shape, 0).end;
  }

  /** Copies the weights to their places. */
  pack(all: Float32Array): void {
    const { layers, norm, head } = this.places;
    layers.forEach((layer, i) => {
      const at = `model.layers.${i}.`;
      this.#packNorm(all, `${at}input_layernorm`, layer.inputNorm);
      this.#packNorm(all, `${at}post_attention_layernorm`, layer.middleNorm);
      if (this.#shape.config.queryKeyNorm) {
        this.#packNorm(all, `${at}self_attn.q_norm`, layer.queryNorm, (d) => offsetInHead(this.#shape, d));
        this.#packNorm(all, `${at}self_attn.k_norm`, layer.keyNorm, (d) => offsetInHead(this.#shape, d));
      }
      for (const name of ["projected", "output", "gateUp", "down"] as const) this.#packProduct(all, at, layer[name]);
    });
    this.#packNorm(all, "model.norm", norm);
    this.#packProduct(all, "", head);
  }

  #packNorm(all: Float32Array, parameter: string, address: number, place: (d: number) => number = (d) => d): void {
    const { offset, size } = this.#slices.get(`${parameter}.weight`)!;
    const to = this.#memory.floats(address, place(size - 1) + 1);
    for (let d = 0; d < size; d++) to[place(d)] = all[offset + d];
  }

  #packProduct(all: Float32Array, at: string, { product, weights, bias }: PackedProduct): void {
    const { inner, columns } = product;
    const width = this.#panelWidth;
    const to = this.#memory.floats(weights, inner.length * columns);
    const biases = this.#memory.floats(bias, columns);
    let column = 0;
    for (const { parameter, rows } of product.parts) {
      const { offset, shape } = this.#slices.get(`${at}${parameter}.weight`)!;
      const biasSlice = product.shape.bias ? this.#slices.get(`${at}${parameter}.bias`)! : undefined;
      for (const row of rows) {
        if (row >= 0) {
          const from = offset + row * shape[1];
          const start = Math.floor(column / width) * width * inner.length + (column % width);
          for (let k = 0; k < inner.length; k++) if (inner[k] >= 0) to[start + k * width] = all[from + inner[k]];
          if (biasSlice !== undefined) biases[column] = all[biasSlice.offset + row];
        }
        column++;
      }
    }
  }
}

/** Where the weights of a set lie that begins at an address. */
export function packedPlaces(shape: KernelShape, address: number): PackedPlaces {
  return layOut(shape, address).places;
}

/** Lays all weights out contiguously. Padding stays zero, as new memory is. */
function layOut(shape: KernelShape, address: number): { places: PackedPlaces; end: number } {
  let end = address;
  const take = (floats: number): number => {
    const start = end;
    end += Math.ceil(floats / 16) * 16 * bytes;
    return start;
  };
  const products = new Map(modelProducts(shape).map((product) => [product.name, product]));
  const place = (name: ModelProduct["name"]): PackedProduct => {
    const product = products.get(name)!;
    return { product, weights: take(product.inner.length * product.columns), bias: take(product.columns) };
  };
  const layers = Array.from({ length: shape.config.layers }, () => ({
    inputNorm: take(shape.rows.states),
    queryNorm: take(shape.paddedHeadWidth),
    keyNorm: take(shape.paddedHeadWidth),
    projected: place("projected"),
    output: place("output"),
    middleNorm: take(shape.rows.states),
    gateUp: place("gateUp"),
    down: place("down"),
  }));
  return { places: { layers, norm: take(shape.rows.states), head: place("head") }, end };
}
