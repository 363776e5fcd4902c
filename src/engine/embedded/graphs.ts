import {
  concat,
  differentiate,
  Graph,
  matmul,
  padRows,
  pick,
  product,
  reshape,
  rmsNorm,
  type Seed,
  softmax,
  takeRows,
  toOnnx,
  top,
  unflattenLike,
  unpadRows,
  type Value,
} from "../../tensor/index.ts";
import { type ModelConfig, valueHeadName } from "../model/model-config.ts";
import {
  blockedLength,
  causalAttention,
  decoderBody,
  type FlatRows,
  finishLayer,
  flatAttention,
  Parameters,
  projectSingleHeads,
  rotationInputs,
  tokenStatistics,
  vocabularyLogits,
  wantedStates,
} from "./model-graph.ts";

/** What a training graph contains; each combination that is used becomes one session. */
export interface TrainingGraphOptions {
  valueHead: boolean;
  gradient: boolean;
  /** With a gradient: derivatives of entropies, of values, of candidates are inputs too. */
  entropies: boolean;
  values: boolean;
  candidates: boolean;
  alternatives: boolean;
  recompute: "nothing" | "attention" | "layers";
  /** Into how many blocks attention cuts a row; its length must be a multiple of this. */
  blocks: number;
  /** The prefix that all rows share is an input of its own and computed once. */
  sharedPrefix: boolean;
  /** Sequence packing: rows are one sequence without padding. */
  packed: boolean;
}

export function gradientName(parameter: string): string {
  return `gradient:${parameter}`;
}

/** Rows of tokens in, per-token numbers out; with `gradient`, derivatives in and parameter gradients out. */
export function trainingGraph(config: ModelConfig, options: TrainingGraphOptions): Uint8Array {
  const graph = new Graph();
  const parameters = new Parameters(graph, config, { valueHead: options.valueHead, joined: false });
  const { tokens, attention } = readRows(config, graph, options);
  const hidden = decoderBody(config, parameters, tokens, {
    attention,
    rotation: rotationInputs(graph, config, tokens.shape),
    recomputeLayers: options.recompute === "layers",
  });
  const states = wantedStates(hidden, graph.input("wanted", "int64", ["P"]));
  const logits = vocabularyLogits(config, parameters, states, graph.input("inverseTemperature", "float32", [1, 1]));
  const { all, logprobs, entropies } = tokenStatistics(logits, graph.input("chosen", "int64", ["P", 1]));
  const values =
    options.valueHead && (options.values || !options.gradient)
      ? matmul(states, parameters.get(valueHeadName), { transposeB: true })
      : undefined;
  const candidates = options.candidates ? pick(all, graph.input("candidates", "int64", ["P", "K"])) : undefined;

  const outputs: Record<string, Value> = { logprobs };
  if (!options.gradient) {
    outputs.entropies = entropies;
    if (options.alternatives) {
      const { values: best, index } = top(all, graph.input("alternatives", "float32", ["A"]));
      outputs.alternativeLogprobs = best;
      outputs.alternativeTokens = index;
    }
    if (values !== undefined) outputs.values = values;
    if (candidates !== undefined) outputs.candidateLogprobs = candidates;
    return toOnnx(outputs);
  }
  const seed = (name: string, value: Value): Seed => ({ value, gradient: graph.input(name, "float32", value.shape) });
  const seeds = [seed("logprobDerivatives", logprobs)];
  if (options.entropies) seeds.push(seed("entropyDerivatives", entropies));
  if (options.values && values !== undefined) seeds.push(seed("valueDerivatives", values));
  if (candidates !== undefined) seeds.push(seed("candidateDerivatives", candidates));
  const trained = [...parameters.used];
  const gradients = differentiate(
    seeds,
    trained.map(([, value]) => value),
  );
  trained.forEach(([name], i) => {
    outputs[gradientName(name)] = gradients[i];
  });
  return toOnnx(outputs);
}

/** The tokens of a batch, and how they see each other. */
function readRows(
  config: ModelConfig,
  graph: Graph,
  { blocks, recompute, sharedPrefix: hasPrefix, packed }: TrainingGraphOptions,
) {
  const length = blockedLength(blocks);
  const options = { blocks, recompute: recompute === "attention" };
  if (!hasPrefix && !packed) {
    const tokens = graph.input("tokens", "int64", ["B", length]);
    return { tokens, attention: causalAttention(config, graph, options) };
  }
  const rows = packed ? packedRows(graph, length) : paddedRows(graph, length);
  const prefix = hasPrefix ? graph.input("sharedPrefix", "int64", [1, "R"]) : undefined;
  const flat = prefix === undefined ? rows.tokens : concat([prefix, rows.tokens], 1);
  // one row per token: ONNX Runtime applies rope to no row that is longer than its tables
  const tokens = reshape(flat, [flat.shape[1], 1]);
  return { tokens, attention: flatAttention(config, graph, { ...options, prefix, rows }) };
}

/** Rows padded to one length. */
function paddedRows(graph: Graph, length: string): FlatRows {
  const rows = graph.input("tokens", "int64", ["B", length]);
  return {
    tokens: reshape(rows, [1, product(rows.shape)]),
    like: rows,
    toRows: (x) => unflattenLike(x, rows),
    toFlat: (x) => reshape(x, [1, product(rows.shape), x.shape[2]]),
  };
}

/** Rows packed into one sequence; only attention sees them padded. */
function packedRows(graph: Graph, length: string): FlatRows {
  const tokens = graph.input("tokens", "int64", [1, "N"]);
  const packedIndex = graph.input("packedIndex", "int64", ["B", length]);
  const paddedIndex = graph.input("paddedIndex", "int64", ["N"]);
  return {
    tokens,
    like: packedIndex,
    toRows: (x) => padRows(reshape(x, ["N", x.shape[2]]), packedIndex, paddedIndex),
    toFlat: (x) => reshape(unpadRows(x, packedIndex, paddedIndex), [1, "N", x.shape[2]]),
  };
}

/**
 * Decoding is cut at every attention, which the kernel computes: piece 0 ends with the queries, keys and values of the first
 * layer, piece i finishes layer i - 1 and ends with those of layer i, the last one gives the probabilities of the next token.
 * All tokens of a step, prefilled or sampled, are rows of one matrix.
 */
export function decodingPiece(config: ModelConfig, piece: number): Uint8Array {
  const graph = new Graph();
  const parameters = new Parameters(graph, config, { valueHead: false, joined: true });
  const states =
    piece === 0
      ? takeRows(parameters.get("model.embed_tokens.weight"), graph.input("tokens", "int64", ["B"]))
      : finishLayer(config, parameters, piece - 1, {
          states: graph.input("states", "float32", ["B", config.width]),
          attended: graph.input("attended", "float32", ["B", config.heads * config.headWidth]),
        });
  if (piece < config.layers) {
    const rotation = rotationInputs(graph, config, ["B", 1]);
    return toOnnx({ newStates: states, ...projectSingleHeads(config, parameters, states, piece, rotation) });
  }
  const inverseTemperature = graph.input("inverseTemperature", "float32", ["B", 1]);
  const hidden = rmsNorm(states, parameters.get("model.norm.weight"), config.normEpsilon);
  return toOnnx({ probabilities: softmax(vocabularyLogits(config, parameters, hidden, inverseTemperature)) });
}
