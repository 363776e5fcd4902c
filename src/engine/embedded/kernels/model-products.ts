import { type KernelShape, offsetInHead, paddedRow } from "./kernel-shape.ts";
import type { ProductShape } from "./product-kernel.ts";

/** Rows of one parameter that become columns of a product; -1 where there is only a place, filled with zeros. */
export interface ProductPart {
  parameter: string;
  rows: readonly number[];
}

/** A product of the model: its parameters side by side, under the name of a layer's part without the layer. */
export interface ModelProduct {
  name: "projected" | "output" | "gateUp" | "down" | "head";
  shape: ProductShape;
  parts: readonly ProductPart[];
  /** Which column of the parameters each summed number belongs to; -1 for none. */
  inner: readonly number[];
  /** Columns of the result, and thus the length of its rows. */
  columns: number;
}

const upTo = (count: number, length = count): number[] => Array.from({ length }, (_, i) => (i < count ? i : -1));

/** What the products of a layer, and of the head, are made of. */
export function modelProducts(shape: KernelShape): ModelProduct[] {
  const { config, rows } = shape;
  const { width, feedForwardWidth, biases } = config;
  const ofHeads = (count: number): number[] => {
    const places = new Array<number>(count * shape.paddedHeadWidth).fill(-1);
    for (let head = 0; head < count; head++) {
      for (let d = 0; d < config.headWidth; d++)
        places[head * shape.paddedHeadWidth + offsetInHead(shape, d)] = head * config.headWidth + d;
    }
    return places;
  };
  const part = (parameter: string, all: readonly number[]): ProductPart => ({ parameter, rows: all });
  const states = { inner: upTo(width), stride: rows.states };
  const make = (
    name: ModelProduct["name"],
    { inner, stride }: { inner: readonly number[]; stride: number },
    parts: readonly ProductPart[],
    { bias = false, onto = false }: { bias?: boolean; onto?: boolean },
  ): ModelProduct => {
    const columns = paddedRow(parts.reduce((sum, { rows: all }) => sum + all.length, 0));
    return { name, shape: { inner: inner.length, stride, bias, onto }, parts, inner, columns };
  };
  const keyValues = ofHeads(config.keyValueHeads);
  const attended = { inner: ofHeads(config.heads), stride: rows.attended };
  const gated = { inner: upTo(feedForwardWidth), stride: rows.gated };
  return [
    make(
      "projected",
      states,
      [
        part("self_attn.q_proj", ofHeads(config.heads)),
        part("self_attn.k_proj", keyValues),
        part("self_attn.v_proj", keyValues),
      ],
      { bias: biases.queryKeyValue },
    ),
    make("output", attended, [part("self_attn.o_proj", upTo(width))], { bias: biases.output, onto: true }),
    make(
      "gateUp",
      states,
      ["gate", "up"].map((half) => part(`mlp.${half}_proj`, upTo(feedForwardWidth, rows.gated))),
      { bias: biases.feedForward },
    ),
    make("down", gated, [part("mlp.down_proj", upTo(width))], { bias: biases.feedForward, onto: true }),
    make("head", states, [part(headParameter(shape), upTo(config.vocabularySize))], {}),
  ];
}

function headParameter({ config }: KernelShape): string {
  return config.tiedEmbeddings ? "model.embed_tokens" : "lm_head";
}
