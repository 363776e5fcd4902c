import { LudusError } from "../../../errors.ts";
import { type ModelConfig, parameterShapes } from "../model-config.ts";
import { inverseFrequencies } from "../rope.ts";
import type { GgufMetadata, GgufTensor, GgufValue } from "./gguf-file.ts";

/** How a parameter is called and laid out in GGUF. */
export interface GgufParameter {
  readonly name: string;
  /** Heads whose rows are reordered; undefined where rows stay. */
  readonly rotatedHeads?: number;
}

const parts: Readonly<Record<string, string>> = {
  "self_attn.q_proj": "attn_q",
  "self_attn.k_proj": "attn_k",
  "self_attn.v_proj": "attn_v",
  "self_attn.o_proj": "attn_output",
  "self_attn.q_norm": "attn_q_norm",
  "self_attn.k_norm": "attn_k_norm",
  "mlp.gate_proj": "ffn_gate",
  "mlp.up_proj": "ffn_up",
  "mlp.down_proj": "ffn_down",
  input_layernorm: "attn_norm",
  post_attention_layernorm: "ffn_norm",
};
const outside: Readonly<Record<string, string>> = {
  "model.embed_tokens": "token_embd",
  "model.norm": "output_norm",
  lm_head: "output",
};

/** A parameter of a Hugging Face model by its name, such as `model.layers.0.mlp.up_proj.weight`. */
export function ggufParameter(name: string, config: ModelConfig): GgufParameter | undefined {
  const [, path = "", kind = ""] = /^(.*)(\.[^.]+)$/.exec(name) ?? [];
  if (Object.hasOwn(outside, path)) return { name: `${outside[path]}${kind}` };
  const layer = /^model\.layers\.(\d+)\.(.+)$/.exec(path);
  if (layer === null || !Object.hasOwn(parts, layer[2])) return undefined;
  const ggufName = `blk.${layer[1]}.${parts[layer[2]]}${kind}`;
  // llama.cpp turns neighbouring numbers of a head of this family; the others are turned as in transformers, by halves
  if (config.family !== "llama") return { name: ggufName };
  if (layer[2] === "self_attn.q_proj") return { name: ggufName, rotatedHeads: config.heads };
  if (layer[2] === "self_attn.k_proj") return { name: ggufName, rotatedHeads: config.keyValueHeads };
  return { name: ggufName };
}

/** Rows of each head from halves, `a0 a1 b0 b1`, to pairs, `a0 b0 a1 b1`. */
export function pairRows(data: Float32Array, rows: number, heads: number): Float32Array {
  const width = data.length / rows;
  const headRows = rows / heads;
  const reordered = new Float32Array(data.length);
  for (let row = 0; row < rows; row++) {
    const inHead = row % headRows;
    const from = row - inHead + (inHead % 2) * (headRows / 2) + (inHead >> 1);
    reordered.set(data.subarray(from * width, (from + 1) * width), row * width);
  }
  return reordered;
}

export function architectureMetadata(config: ModelConfig): GgufMetadata {
  checkArchitecture(config);
  const uint32 = (value: number): GgufValue => ({ type: "uint32", value });
  const float32 = (value: number): GgufValue => ({ type: "float32", value });
  const fields: Record<string, GgufValue> = {
    context_length: uint32(config.contextLength),
    embedding_length: uint32(config.width),
    block_count: uint32(config.layers),
    feed_forward_length: uint32(config.feedForwardWidth),
    vocab_size: uint32(config.vocabularySize),
    "attention.head_count": uint32(config.heads),
    "attention.head_count_kv": uint32(config.keyValueHeads),
    "attention.key_length": uint32(config.headWidth),
    "attention.value_length": uint32(config.headWidth),
    "attention.layer_norm_rms_epsilon": float32(config.normEpsilon),
    "rope.dimension_count": uint32(config.headWidth),
    "rope.freq_base": float32(config.rope.theta),
    ...ropeMetadata(config),
  };
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [`${config.family}.${key}`, value]));
}

function ropeMetadata({ rope }: ModelConfig): Record<string, GgufValue> {
  if (rope.type !== "linear" && rope.type !== "yarn") return {};
  const scaling: Record<string, GgufValue> = {
    "rope.scaling.type": { type: "string", value: rope.type },
    "rope.scaling.factor": { type: "float32", value: rope.factor },
  };
  if (rope.type !== "yarn") return scaling;
  return {
    ...scaling,
    "rope.scaling.original_context_length": { type: "uint32", value: rope.originalContextLength },
    "rope.scaling.yarn_beta_fast": { type: "float32", value: rope.betaFast },
    "rope.scaling.yarn_beta_slow": { type: "float32", value: rope.betaSlow },
  };
}

/** Refuses what llama.cpp would compute otherwise, or not at all. */
function checkArchitecture(config: ModelConfig): void {
  const { family, rope, biases, width, heads, headWidth } = config;
  const refuse = (got: string, expected: string): never => {
    throw new LudusError("not-in-gguf", {
      got,
      expected,
      hint: "Export it as huggingface or onnx, or serve it with `ludus serve`.",
    });
  };
  if (family === "qwen3" && biases.queryKeyValue) refuse("a qwen3 model with biases in attention", "one without");
  if (family === "qwen2" && width !== heads * headWidth)
    refuse(`a qwen2 model with ${heads} heads of ${headWidth} at width ${width}`, "heads that add up to the width");
  if (rope.type === "longrope") refuse("rope of type longrope", "default, linear, dynamic, llama3 or yarn");
  if (rope.type === "llama3" && family !== "llama") refuse(`rope of type llama3 in a ${family} model`, "a llama model");
  if (rope.type === "yarn") {
    const usual = rope.factor <= 1 ? 1 : 0.1 * Math.log(rope.factor) + 1;
    if (Math.abs(rope.attentionFactor - usual) > 1e-6 || !rope.truncate)
      refuse(`yarn with attention_factor ${rope.attentionFactor} and truncate ${rope.truncate}`, `${usual} and true`);
  }
}

/** The frequencies of rope llama3, as what plain ones are divided by. Other types need no tensor. */
export function ropeTensors(config: ModelConfig): GgufTensor[] {
  if (config.rope.type !== "llama3") return [];
  const { theta } = config.rope;
  const { contextLength } = config;
  const plain = inverseFrequencies({ ...config, rope: { type: "default", theta } }, contextLength);
  const scaled = inverseFrequencies(config, contextLength);
  const data = () => plain.map((frequency, i) => frequency / scaled[i]);
  return [{ name: "rope_freqs.weight", shape: [plain.length], type: "f32", data }];
}

/** Every parameter of the model. Matrices have the wanted type, vectors are float32, as llama.cpp asks for. */
export function modelTensors(
  config: ModelConfig,
  type: GgufTensor["type"],
  read: (name: string) => Float32Array,
): GgufTensor[] {
  const tensors = parameterShapes(config).map(({ name, shape }): GgufTensor => {
    const { name: ggufName, rotatedHeads } = ggufParameter(name, config)!;
    const data = () => (rotatedHeads === undefined ? read(name) : pairRows(read(name), shape[0], rotatedHeads));
    return { name: ggufName, shape, type: shape.length === 1 ? "f32" : type, data };
  });
  return [...ropeTensors(config), ...tensors];
}
