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
  recompute,
  reshape,
  rmsNorm,
  rotary,
  silu,
  softmax,
  splitLike,
  sumKeep,
  takeRows,
  transpose,
  type Value,
} from "../../tensor/index.ts";
import { type ModelConfig, parameterShapes } from "./model-config.ts";

// Axes: B rows, S new tokens of a row, T tokens in its cache, P positions a head is wanted at, K candidates of a position.

/** The weights of a decoder as graph inputs under their Hugging Face names. */
export class Parameters {
  readonly graph: Graph;
  readonly values: ReadonlyMap<string, Value>;

  constructor(graph: Graph, config: ModelConfig, valueHead: boolean) {
    this.graph = graph;
    const shapes = parameterShapes(config, { valueHead });
    this.values = new Map(shapes.map(({ name, shape }) => [name, graph.input(name, "float32", shape)]));
  }

  get(name: string): Value {
    return this.values.get(name)!;
  }

  /** x·Wᵀ + b, with the bias where the model has one. */
  linear(x: Value, name: string): Value {
    const product = matmul(x, this.get(`${name}.weight`), { transposeB: true });
    const bias = this.values.get(`${name}.bias`);
    return bias === undefined ? product : add(product, bias);
  }
}

/** Queries, keys and values of one layer, turned by their positions: `[B, S, heads·headWidth]`. */
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

export type Attention = (heads: Heads, layer: number) => Value;

/** The rotation tables and positions as graph inputs. */
export function rotationInputs(graph: Graph, config: ModelConfig, length: Dim): Rotation {
  const half = config.headWidth / 2;
  return {
    positions: graph.input("positions", "int64", ["B", length]),
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
    const run = ([input]: readonly Value[]) => decoderLayer(config, parameters, input!, layer, options);
    x = options.recomputeLayers === true ? recompute([x], run) : run([x]);
  }
  return rmsNorm(x, parameters.get("model.norm.weight"), config.normEpsilon);
}

function decoderLayer(
  config: ModelConfig,
  parameters: Parameters,
  x: Value,
  layer: number,
  options: BodyOptions,
): Value {
  const at = `model.layers.${layer}`;
  const normal = rmsNorm(x, parameters.get(`${at}.input_layernorm.weight`), config.normEpsilon);
  const heads = projectHeads(config, parameters, normal, `${at}.self_attn`, options.rotation);
  const attended = add(x, parameters.linear(options.attention(heads, layer), `${at}.self_attn.o_proj`));
  const second = rmsNorm(attended, parameters.get(`${at}.post_attention_layernorm.weight`), config.normEpsilon);
  const gated = mul(
    silu(parameters.linear(second, `${at}.mlp.gate_proj`)),
    parameters.linear(second, `${at}.mlp.up_proj`),
  );
  return add(attended, parameters.linear(gated, `${at}.mlp.down_proj`));
}

function projectHeads(config: ModelConfig, parameters: Parameters, x: Value, at: string, rotation: Rotation): Heads {
  const turned = (name: "q" | "k", count: number) => {
    const projected = parameters.linear(x, `${at}.${name}_proj`);
    const normal = config.queryKeyNorm
      ? headNorm(projected, parameters.get(`${at}.${name}_norm.weight`), count, config)
      : projected;
    return rotary(normal, rotation.positions, rotation.cos, rotation.sin);
  };
  return {
    query: turned("q", config.heads),
    key: turned("k", config.keyValueHeads),
    value: parameters.linear(x, `${at}.v_proj`),
  };
}

function headNorm(x: Value, weight: Value, heads: number, config: ModelConfig): Value {
  const [rows, length] = x.shape;
  const split = reshape(x, [rows!, length!, heads, config.headWidth]);
  return reshape(rmsNorm(split, weight, config.normEpsilon), x.shape);
}

/** `[B, S, heads·headWidth]` to `[B, heads, S, headWidth]`. */
export function splitHeads(x: Value, heads: number, config: ModelConfig): Value {
  const [rows, length] = x.shape;
  return transpose(reshape(x, [rows!, length!, heads, config.headWidth]), [0, 2, 1, 3]);
}

/** Query heads that share a key/value head stand one under the other, so that no key is ever repeated. */
function groupQueries(query: Value, config: ModelConfig): Value {
  const split = splitHeads(query, config.heads, config);
  const group = config.heads / config.keyValueHeads;
  return group === 1 ? split : reshape(split, [split.shape[0]!, config.keyValueHeads, `${group}*S`, config.headWidth]);
}

function joinHeads(x: Value, config: ModelConfig): Value {
  const split = reshape(x, ["B", config.heads, "S", config.headWidth]);
  return reshape(transpose(split, [0, 2, 1, 3]), ["B", "S", config.heads * config.headWidth]);
}

/** Attention of whole rows: each token sees those before it. `mask` is `[S, S]`, 0 or very negative. */
export function causalAttention(config: ModelConfig, mask: Value, options: { recompute: boolean }): Attention {
  const scale = config.headWidth ** -0.5;
  const attend = ([query, key, value]: readonly Value[]): Value => {
    const scores = matmul(query!, key!, { transposeB: true, scale });
    const square = reshape(scores, ["B", config.heads, "S", "S"]);
    return matmul(reshape(softmax(add(square, mask)), scores.shape), value!);
  };
  return (heads) => {
    const inputs = [
      groupQueries(heads.query, config),
      splitHeads(heads.key, config.keyValueHeads, config),
      splitHeads(heads.value, config.keyValueHeads, config),
    ];
    return joinHeads(options.recompute ? recompute(inputs, attend) : attend(inputs), config);
  };
}

/** Keys and values of the new tokens of one layer, `[B, keyValueHeads, S, headWidth]`. */
export interface NewEntries {
  keys: Value;
  values: Value;
}

/**
 * Attention of new tokens to a cache and to each other. The cache is an input that is only read; the new keys and values
 * come out, and the host writes them in. `pastMask` is `[B, 1, 1, T]`, `newMask` is `[S, S]`.
 */
export function cachedAttention(config: ModelConfig, graph: Graph, entries: NewEntries[]): Attention {
  const scale = config.headWidth ** -0.5;
  const pastMask = graph.input("pastMask", "float32", ["B", 1, 1, "T"]);
  const newMask = graph.input("newMask", "float32", ["S", "S"]);
  return (heads, layer) => {
    const query = groupQueries(heads.query, config);
    const keys = splitHeads(heads.key, config.keyValueHeads, config);
    const values = splitHeads(heads.value, config.keyValueHeads, config);
    entries[layer] = { keys, values };
    const { pastKeys, pastValues } = cacheInputs(config, graph, layer);
    const past = add(
      reshape(matmul(query, pastKeys, { transposeB: true, scale }), ["B", config.heads, "S", "T"]),
      pastMask,
    );
    const recent = add(
      reshape(matmul(query, keys, { transposeB: true, scale }), ["B", config.heads, "S", "S"]),
      newMask,
    );
    const [toPast, toRecent] = splitLike(softmax(concat([past, recent], -1)), [past, recent], -1) as [Value, Value];
    const grouped = (weights: Value, length: string) => reshape(weights, [...query.shape.slice(0, 3), length]);
    return joinHeads(add(matmul(grouped(toPast, "T"), pastValues), matmul(grouped(toRecent, "S"), values)), config);
  };
}

/**
 * The same for a single new token per row, which is what decoding is. Heads need no transposition then, the token's own score
 * is a row sum, and with one query per key head K·q runs half as long again as fast as q·Kᵀ in ONNX Runtime 1.30.
 */
export function singleTokenAttention(config: ModelConfig, graph: Graph, entries: NewEntries[]): Attention {
  const { keyValueHeads, headWidth } = config;
  const group = config.heads / keyValueHeads;
  const pastMask = graph.input("pastMask", "float32", ["B", 1, 1, "T"]);
  const scale = graph.constant(headWidth ** -0.5);
  return (heads, layer) => {
    const query = mul(reshape(heads.query, ["B", keyValueHeads, group, headWidth]), scale);
    const keys = reshape(heads.key, ["B", keyValueHeads, 1, headWidth]);
    const values = reshape(heads.value, ["B", keyValueHeads, 1, headWidth]);
    entries[layer] = { keys, values };
    const { pastKeys, pastValues } = cacheInputs(config, graph, layer);
    const scores =
      group === 1
        ? reshape(matmul(pastKeys, reshape(query, ["B", keyValueHeads, headWidth, 1])), ["B", keyValueHeads, 1, "T"])
        : matmul(query, pastKeys, { transposeB: true });
    const past = add(scores, pastMask);
    const own = sumKeep(mul(query, keys), [-1]);
    const [toPast, toOwn] = splitLike(softmax(concat([past, own], -1)), [past, own], -1) as [Value, Value];
    const attended = add(matmul(toPast, pastValues), mul(toOwn, values));
    return reshape(attended, ["B", 1, config.heads * headWidth]);
  };
}

function cacheInputs(config: ModelConfig, graph: Graph, layer: number): { pastKeys: Value; pastValues: Value } {
  const shape = ["B", config.keyValueHeads, "T", config.headWidth];
  return { pastKeys: graph.input(`keys.${layer}`, "float32", shape), pastValues: graph.input(`values.${layer}`, "float32", shape) };
}

/** Hidden states of the wanted positions, `[P, width]`, from flat row numbers `[P]`. */
export function wantedStates(hidden: Value, positions: Value): Value {
  const width = hidden.shape.at(-1)!;
  return takeRows(reshape(hidden, ["B*S", width]), positions);
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
