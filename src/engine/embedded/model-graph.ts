import {
  add,
  concat,
  type Dim,
  exp,
  type Graph,
  logSoftmax,
  matmul,
  mul,
  neg,
  pick,
  product,
  recompute,
  repeatLike,
  reshape,
  rmsNorm,
  rotary,
  type Shape,
  silu,
  softmax,
  split,
  sumKeep,
  takeRows,
  transpose,
  type Value,
} from "../../tensor/index.ts";
import type { ModelConfig } from "../model/model-config.ts";
import { joinedProjections, weightLayout } from "./weights.ts";

// Axes: B rows, S tokens of a row (n·C in blocks of C), R tokens of the prefix that all rows share,
// P positions a head is wanted at, K candidates of a position.

export interface ParametersOptions {
  valueHead: boolean;
  /** Projections of the same input as one product: for decoding, where few rows make small products slow. */
  joined: boolean;
}

/** The weights of a decoder as graph inputs under their Hugging Face names, made when first used. */
export class Parameters {
  readonly #graph: Graph;
  readonly #joined: boolean;
  readonly #shapes: ReadonlyMap<string, readonly number[]>;
  readonly #values = new Map<string, Value>();

  constructor(graph: Graph, config: ModelConfig, options: ParametersOptions) {
    this.#graph = graph;
    this.#joined = options.joined;
    const { slices, joined } = weightLayout(config, options.valueHead);
    this.#shapes = new Map([...slices, ...joined].map(({ name, shape }) => [name, shape]));
  }

  /** What the graph has come to use. */
  get used(): ReadonlyMap<string, Value> {
    return this.#values;
  }

  get(name: string): Value {
    const known = this.#values.get(name);
    if (known !== undefined) return known;
    const value = this.#graph.input(name, "float32", this.#shapes.get(name)!);
    this.#values.set(name, value);
    return value;
  }

  /** x·Wᵀ + b, with the bias where the model has one. */
  linear(x: Value, name: string): Value {
    const product = matmul(x, this.get(`${name}.weight`), { transposeB: true });
    return this.#shapes.has(`${name}.bias`) ? add(product, this.get(`${name}.bias`)) : product;
  }

  /** Several projections of the same input. */
  linears(x: Value, at: string, joint: keyof typeof joinedProjections): readonly Value[] {
    const names = joinedProjections[joint].map((member) => `${at}.${member}`);
    if (!this.#joined) return names.map((name) => this.linear(x, name));
    const sizes = names.map((name) => this.#shapes.get(`${name}.weight`)![0]);
    return split(this.linear(x, `${at}.${joint}`), sizes, -1);
  }
}

/** Queries, keys and values of one layer, rotated by their positions: `[B, S, heads·headWidth]`. */
interface Heads {
  query: Value;
  key: Value;
  value: Value;
}

/** What attention sees besides the new tokens. */
interface Rotation {
  positions: Value;
  cos: Value;
  sin: Value;
}

export type Attention = (heads: Heads) => Value;

/** The rotation tables, and positions of tokens in a shape, as graph inputs. */
export function rotationInputs(graph: Graph, config: ModelConfig, shape: Shape): Rotation {
  const half = config.headWidth / 2;
  return {
    positions: graph.input("positions", "int64", shape),
    cos: graph.input("cos", "float32", ["positions", half]),
    sin: graph.input("sin", "float32", ["positions", half]),
  };
}

export interface BodyOptions {
  attention: Attention;
  rotation: Rotation;
  /** Compute each layer again in the backward pass instead of keeping what is inside it. */
  recomputeLayers?: boolean;
}

/** Token ids `[B, S]` to final hidden states `[B, S, width]`. */
export function decoderBody(config: ModelConfig, parameters: Parameters, tokens: Value, options: BodyOptions): Value {
  let x = takeRows(parameters.get("model.embed_tokens.weight"), tokens);
  for (let layer = 0; layer < config.layers; layer++) {
    const run = ([input]: readonly Value[]) => decoderLayer(config, parameters, input, layer, options);
    x = options.recomputeLayers === true ? recompute([x], run) : run([x]);
  }
  return rmsNorm(x, parameters.get("model.norm.weight"), config.normEpsilon);
}

function decoderLayer(
  config: ModelConfig,
  parameters: Parameters,
  states: Value,
  layer: number,
  options: BodyOptions,
): Value {
  const heads = projectHeads(config, parameters, states, layer, options.rotation);
  return finishLayer(config, parameters, layer, { states, attended: options.attention(heads) });
}

/** What follows attention in a layer: its projection and the feed-forward part, each added to the states. */
export function finishLayer(
  config: ModelConfig,
  parameters: Parameters,
  layer: number,
  { states, attended }: { states: Value; attended: Value },
): Value {
  const at = `model.layers.${layer}`;
  const sum = add(states, parameters.linear(attended, `${at}.self_attn.o_proj`));
  const normal = rmsNorm(sum, parameters.get(`${at}.post_attention_layernorm.weight`), config.normEpsilon);
  const [gate, up] = parameters.linears(normal, at, "mlp.gate_up_proj") as [Value, Value];
  return add(sum, parameters.linear(mul(silu(gate), up), `${at}.mlp.down_proj`));
}

function projectHeads(
  config: ModelConfig,
  parameters: Parameters,
  states: Value,
  layer: number,
  rotation: Rotation,
): Heads {
  const at = `model.layers.${layer}`;
  const normal = rmsNorm(states, parameters.get(`${at}.input_layernorm.weight`), config.normEpsilon);
  const [query, key, value] = parameters.linears(normal, at, "self_attn.qkv_proj") as [Value, Value, Value];
  const rotated = (projected: Value, name: "q" | "k", heads: number) => {
    const scaled = config.queryKeyNorm
      ? headNorm(projected, parameters.get(`${at}.self_attn.${name}_norm.weight`), heads, config)
      : projected;
    return rotary(scaled, rotation.positions, rotation.cos, rotation.sin);
  };
  return { query: rotated(query, "q", config.heads), key: rotated(key, "k", config.keyValueHeads), value };
}

/**
 * For one token per row: queries and keys rotated together, `[B, heads + keyValueHeads, 1, headWidth]`, and values
 * `[B, keyValueHeads, 1, headWidth]`.
 */
export function projectSingleHeads(
  config: ModelConfig,
  parameters: Parameters,
  states: Value,
  layer: number,
  rotation: Rotation,
): { queryKeys: Value; values: Value } {
  const at = `model.layers.${layer}`;
  const { heads, keyValueHeads, headWidth } = config;
  const normal = rmsNorm(states, parameters.get(`${at}.input_layernorm.weight`), config.normEpsilon);
  const projected = parameters.linear(normal, `${at}.self_attn.qkv_proj`);
  const all = reshape(projected, ["B", heads + 2 * keyValueHeads, 1, headWidth]);
  const rotate = (x: Value) => rotary(x, rotation.positions, rotation.cos, rotation.sin);
  if (!config.queryKeyNorm) {
    const [queryKeys, values] = split(all, [heads + keyValueHeads, keyValueHeads], 1) as [Value, Value];
    return { queryKeys: rotate(queryKeys), values };
  }
  const [query, key, values] = split(all, [heads, keyValueHeads, keyValueHeads], 1) as [Value, Value, Value];
  const scaled = (x: Value, name: string) =>
    rmsNorm(x, parameters.get(`${at}.self_attn.${name}_norm.weight`), config.normEpsilon);
  return { queryKeys: rotate(concat([scaled(query, "q"), scaled(key, "k")], 1)), values };
}

function headNorm(x: Value, weight: Value, heads: number, config: ModelConfig): Value {
  const rows = x.shape.slice(0, -1);
  return reshape(rmsNorm(reshape(x, [...rows, heads, config.headWidth]), weight, config.normEpsilon), x.shape);
}

/** `[B, S, heads·headWidth]` to `[B, heads, S, headWidth]`. */
export function splitHeads(x: Value, heads: number, config: ModelConfig): Value {
  const [rows, length] = x.shape;
  return transpose(reshape(x, [rows, length, heads, config.headWidth]), [0, 2, 1, 3]);
}

/** Query heads of one key/value head become rows of one matrix, so that keys are not repeated (grouped-query attention). */
export function groupQueries(query: Value, config: ModelConfig): Value {
  const split = splitHeads(query, config.heads, config);
  const group = config.heads / config.keyValueHeads;
  const [rows, , length] = split.shape;
  return reshape(split, [rows, config.keyValueHeads, product([group, length]), config.headWidth]);
}

/** Back to `[B, length, heads·headWidth]`. */
export function joinHeads(x: Value, length: Dim, config: ModelConfig): Value {
  const rows = x.shape[0];
  const split = reshape(x, [rows, config.heads, length, config.headWidth]);
  return reshape(transpose(split, [0, 2, 1, 3]), [rows, length, config.heads * config.headWidth]);
}

/** The length of rows that are cut into blocks for attention. */
export function blockedLength(blocks: number): string {
  return new Array(blocks).fill("C").join("+");
}

interface AttentionOptions {
  blocks: number;
  /** Compute attention weights again in the backward pass instead of keeping them. */
  recompute: boolean;
}

/**
 * Attention of whole rows: each token sees those before it. Rows are cut into blocks, and a block of queries looks only at the
 * blocks up to its own, which saves almost half of the work for long rows. Mask number i is `[C, (i+1)·C]`.
 */
export function causalAttention(config: ModelConfig, graph: Graph, { blocks, recompute }: AttentionOptions): Attention {
  const masks = blockMasks(graph, blocks);
  return (heads) => attendInBlocks(config, heads, { masks, recompute });
}

/** Rows of a batch as one list of tokens, and how numbers of its tokens become rows for attention. */
export interface FlatRows {
  /** `[1, N]`. */
  tokens: Value;
  /** A value of B rows. */
  like: Value;
  /** `[1, N, width]` to `[B, S, width]`, and back. */
  toRows(x: Value): Value;
  toFlat(x: Value): Value;
}

/**
 * Attention of rows whose tokens are one list, `[R + N, 1]`: the first R, if there are any, are the shared `prefix`, `[1, R]`, the others
 * the `rows`. A row attends to the prefix and to itself; `mask.toPrefix` is `[C, R]` of zeros.
 */
export function flatAttention(
  config: ModelConfig,
  graph: Graph,
  { blocks, recompute, prefix, rows }: AttentionOptions & { prefix: Value | undefined; rows: FlatRows },
): Attention {
  const masks = blockMasks(graph, blocks);
  const prefixMasks = prefix && {
    inPrefix: graph.input("mask.inPrefix", "float32", ["R", "R"]),
    toPrefix: graph.input("mask.toPrefix", "float32", ["C", "R"]),
  };
  return ({ query, key, value }) => {
    const flat = [query, key, value].map((x) => reshape(x, [1, x.shape[0], x.shape[2]]));
    const parts = flat.map((x) => (prefix === undefined ? [x] : split(x, [prefix, rows.tokens], 1)));
    const heads = (which: number, to: (x: Value) => Value): Heads => {
      const [q, k, v] = parts.map((part) => to(part.at(which)!)) as [Value, Value, Value];
      return { query: q, key: k, value: v };
    };
    const own = heads(-1, rows.toRows);
    if (prefixMasks === undefined)
      return reshape(rows.toFlat(attendInBlocks(config, own, { masks, recompute })), query.shape);
    const shared = heads(0, (x) => x);
    const forEach = (x: Value) => repeatLike(splitHeads(x, config.keyValueHeads, config), rows.like);
    const before = { key: forEach(shared.key), value: forEach(shared.value), mask: prefixMasks.toPrefix };
    const attended = [
      attendInBlocks(config, shared, { masks: [prefixMasks.inPrefix], recompute }),
      rows.toFlat(attendInBlocks(config, own, { masks, recompute, before })),
    ];
    return reshape(concat(attended, 1), query.shape);
  };
}

function blockMasks(graph: Graph, blocks: number): Value[] {
  return Array.from({ length: blocks }, (_, i) => graph.input(`mask.${i}`, "float32", ["C", blockedLength(i + 1)]));
}

interface BlocksOptions {
  masks: readonly Value[];
  recompute: boolean;
  /** Keys and values that all queries attend to, `[B, keyValueHeads, R, headWidth]`, and their mask. */
  before?: { key: Value; value: Value; mask: Value };
}

function attendInBlocks(config: ModelConfig, heads: Heads, { masks, before, ...options }: BlocksOptions): Value {
  const scale = config.headWidth ** -0.5;
  const attend =
    (mask: Value) =>
    ([query, key, value]: readonly Value[]): Value => {
      const scores = matmul(query, key, { transposeB: true, scale });
      const [rows, , , keys] = scores.shape;
      const masked = add(reshape(scores, [rows, config.heads, mask.shape[0], keys]), mask);
      return matmul(reshape(softmax(masked), scores.shape), value);
    };
  const cut = (x: Value) => (masks.length === 1 ? [x] : split(x, new Array<Value>(masks.length).fill(masks[0]), 1));
  const keys = cut(heads.key).map((key) => splitHeads(key, config.keyValueHeads, config));
  const values = cut(heads.value).map((value) => splitHeads(value, config.keyValueHeads, config));
  const seen = (first: Value | undefined, own: readonly Value[], axis: number) =>
    concat(first === undefined ? own : [first, ...own], axis);
  const attended = cut(heads.query).map((part, i) => {
    const inputs = [
      groupQueries(part, config),
      seen(before?.key, keys.slice(0, i + 1), 2),
      seen(before?.value, values.slice(0, i + 1), 2),
    ];
    const run = attend(seen(before?.mask, [masks[i]], 1));
    return joinHeads(options.recompute ? recompute(inputs, run) : run(inputs), masks[0].shape[0], config);
  });
  return concat(attended, 1);
}

/** Hidden states of the wanted positions, `[P, width]`, from flat row numbers `[P]`. */
export function wantedStates(hidden: Value, positions: Value): Value {
  const width = hidden.shape.at(-1)!;
  return takeRows(reshape(hidden, [product(hidden.shape.slice(0, 2)), width]), positions);
}

/** Log-probabilities of the whole vocabulary, `[P, vocabulary]`, at a temperature given by its inverse `[P, 1]` or `[1, 1]`. */
export function vocabularyLogits(
  config: ModelConfig,
  parameters: Parameters,
  states: Value,
  inverseTemperature: Value,
): Value {
  const head = parameters.get(config.tiedEmbeddings ? "model.embed_tokens.weight" : "lm_head.weight");
  // scaling the states instead of the logits is a pass over the width instead of one over the vocabulary
  return matmul(mul(states, inverseTemperature), head, { transposeB: true });
}

/** Log-probability of the chosen token and entropy of each position, `[P, 1]`. */
export function tokenStatistics(logits: Value, chosen: Value): { all: Value; logprobs: Value; entropies: Value } {
  const all = logSoftmax(logits);
  return { all, logprobs: pick(all, chosen), entropies: neg(sumKeep(mul(exp(all), all), [-1])) };
}
