import { add, concat, Graph, matmul, type Operator, reshape, softmax, type Value } from "../../tensor/index.ts";
import type { ModelConfig } from "../model/model-config.ts";
import { type Attention, decoderBody, groupQueries, joinHeads, Parameters, splitHeads } from "./model-graph.ts";
import { hidden } from "./session.ts";

// Axes: B rows, S new tokens of a row, P earlier ones, whose keys and values are fed.

export const rotationTables = { cos: "rotary.cos", sin: "rotary.sin" } as const;

export interface OnnxGraph {
  readonly outputs: Readonly<Record<string, Value>>;
  /** Inputs that are weights, by name. */
  readonly weights: readonly string[];
}

/**
 * The whole decoder in one graph, with inputs and outputs named and shaped as Optimum writes and transformers.js reads them:
 * `input_ids`, `attention_mask`, `position_ids` and each layer's keys and values of the tokens before.
 */
export function onnxGraph(config: ModelConfig, tableLength: number): OnnxGraph {
  const graph = new Graph();
  const parameters = new Parameters(graph, config, { valueHead: false, joined: false });
  const tokens = graph.input("input_ids", "int64", ["B", "S"]);
  const mask = graph.input("attention_mask", "int64", ["B", "P+S"]);
  const table = (name: string) => graph.input(name, "float32", [tableLength, config.headWidth / 2]);
  const rotation = {
    positions: graph.input("position_ids", "int64", ["B", "S"]),
    cos: table(rotationTables.cos),
    sin: table(rotationTables.sin),
  };
  const { attention, present } = cachedAttention(config, graph, tokens, mask);
  const states = decoderBody(config, parameters, tokens, { attention, rotation });
  const head = parameters.get(config.tiedEmbeddings ? "model.embed_tokens.weight" : "lm_head.weight");
  const logits = matmul(states, head, { transposeB: true });
  return { outputs: { logits, ...present }, weights: [...parameters.used.keys()] };
}

function cachedAttention(config: ModelConfig, graph: Graph, tokens: Value, mask: Value) {
  const { heads, keyValueHeads, headWidth } = config;
  const bias = graph.apply(causalBias, [mask, tokens])[0];
  const present: Record<string, Value> = {};
  let layer = 0;
  const attention: Attention = ({ query, key, value }) => {
    const extended = (name: "key" | "value", fresh: Value) => {
      const past = graph.input(`past_key_values.${layer}.${name}`, "float32", ["B", keyValueHeads, "P", headWidth]);
      const all = concat([past, splitHeads(fresh, keyValueHeads, config)], 2);
      present[`present.${layer}.${name}`] = all;
      return all;
    };
    const [keys, values] = [extended("key", key), extended("value", value)];
    layer++;
    const scores = matmul(groupQueries(query, config), keys, { transposeB: true, scale: headWidth ** -0.5 });
    const masked = add(reshape(scores, ["B", heads, "S", scores.shape[3]]), bias);
    return joinHeads(matmul(reshape(softmax(masked), scores.shape), values), "S", config);
  };
  return { attention, present };
}

/** `[B, 1, S, P+S]`: very negative where a token would see its future, or a row's padding. */
const causalBias: Operator = {
  name: "causalBias",
  infer: ([mask, tokens]) => [{ dtype: "float32", shape: [tokens.shape[0], 1, tokens.shape[1], mask.shape[1]] }],
  derivative: () => [undefined, undefined],
  emit(node, emitter) {
    const [mask, tokens] = node.inputs.map(emitter.name) as [string, string];
    const made = (operator: string, inputs: readonly string[], attributes = {}) => {
      const name = emitter.fresh();
      emitter.node(operator, inputs, [name], attributes);
      return name;
    };
    const whole = (value: number) => emitter.integers([value], true);
    const length = (of: string) => made("Gather", [made("Shape", [of]), whole(1)]);
    const total = length(mask);
    const places = made("Range", [whole(0), total, whole(1)]);
    const own = made("Range", [made("Sub", [total, length(tokens)]), total, whole(1)]);
    const isLater = made("Greater", [places, made("Unsqueeze", [own, emitter.integers([1])])]);
    const isPadding = made("Unsqueeze", [made("Equal", [mask, whole(0)]), emitter.integers([1, 2])]);
    const isHidden = made("Or", [isLater, isPadding]);
    emitter.node("Where", [isHidden, emitter.float(hidden), emitter.float(0)], node.outputs.map(emitter.name));
  },
};
