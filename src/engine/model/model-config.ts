import { z } from "zod";
import { bounds } from "../../bounds.ts";
import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { checkRope, HuggingFaceRope, parseRope, type RopeConfig, ropeToHuggingFace } from "./rope.ts";

export type { RopeConfig } from "./rope.ts";

/**
 * A decoder of the Llama family, described once for the graph builder, the checkpoint reader and the worker threads.
 * Immutable, and plain data: it survives `structuredClone` and JSON.
 */
export interface ModelConfig {
  readonly family: "llama" | "qwen2" | "qwen3";
  readonly vocabularySize: number;
  /** Width of the residual stream (`hidden_size`). */
  readonly width: number;
  readonly layers: number;
  readonly heads: number;
  /** Each key/value head serves `heads / keyValueHeads` consecutive query heads. */
  readonly keyValueHeads: number;
  /** Not always `width / heads`: Qwen3 chooses it freely. */
  readonly headWidth: number;
  readonly feedForwardWidth: number;
  readonly contextLength: number;
  readonly normEpsilon: number;
  readonly tiedEmbeddings: boolean;
  readonly biases: { readonly queryKeyValue: boolean; readonly output: boolean; readonly feedForward: boolean };
  /** RMSNorm over each head's query and key, before the rotation. */
  readonly queryKeyNorm: boolean;
  readonly rope: RopeConfig;
  readonly initializerRange: number;
  readonly tokens: { readonly bos: number | null; readonly eos: readonly number[]; readonly pad: number | null };
}

export interface ParameterShape {
  readonly name: string;
  readonly shape: readonly number[];
}

const count = z.int().positive();
const positive = z.number().positive();
const tokenId = z.int().nullish();

const HuggingFaceConfig = z.looseObject({
  model_type: z.enum(["llama", "qwen2", "qwen3"]),
  vocab_size: count,
  hidden_size: count,
  intermediate_size: count,
  num_hidden_layers: count,
  num_attention_heads: count,
  num_key_value_heads: count.nullish(),
  head_dim: count.nullish(),
  hidden_act: z.string().default("silu"),
  max_position_embeddings: count.optional(),
  original_max_position_embeddings: count.nullish(),
  rms_norm_eps: positive.default(1e-6),
  initializer_range: z.number().nonnegative().default(0.02),
  tie_word_embeddings: z.boolean().default(false),
  attention_bias: z.boolean().default(false),
  mlp_bias: z.boolean().default(false),
  attention_dropout: z.number().nullish(),
  partial_rotary_factor: z.number().nullish(),
  rope_theta: positive.nullish(),
  rope_scaling: HuggingFaceRope.nullish(),
  rope_parameters: HuggingFaceRope.nullish(),
  use_sliding_window: z.boolean().nullish(),
  sliding_window: count.nullish(),
  max_window_layers: z.int().nonnegative().default(28),
  layer_types: z.array(z.string()).nullish(),
  bos_token_id: tokenId,
  eos_token_id: z.union([z.int(), z.array(z.int())]).nullish(),
  pad_token_id: tokenId,
});
type HuggingFaceConfig = z.infer<typeof HuggingFaceConfig>;

/** Reads the content of a Hugging Face `config.json` of model type llama, qwen2 or qwen3, in the old or the newer style. */
export function parseModelConfig(json: unknown): ModelConfig {
  const parsed = HuggingFaceConfig.safeParse(json);
  if (!parsed.success) throw schemaError(json, parsed.error.issues[0]);
  const raw = parsed.data;
  refuseUnsupported(raw);
  const family = raw.model_type;
  const contextLength = raw.max_position_embeddings ?? (family === "llama" ? 2048 : 32768);
  return checkModelConfig({
    family,
    vocabularySize: raw.vocab_size,
    width: raw.hidden_size,
    layers: raw.num_hidden_layers,
    heads: raw.num_attention_heads,
    keyValueHeads: raw.num_key_value_heads ?? raw.num_attention_heads,
    headWidth: raw.head_dim ?? (family === "qwen3" ? 128 : Math.floor(raw.hidden_size / raw.num_attention_heads)),
    feedForwardWidth: raw.intermediate_size,
    contextLength,
    normEpsilon: raw.rms_norm_eps,
    tiedEmbeddings: raw.tie_word_embeddings,
    biases: familyBiases(family, raw.attention_bias, raw.mlp_bias),
    queryKeyNorm: family === "qwen3",
    rope: parseModelRope(raw, contextLength),
    initializerRange: raw.initializer_range,
    tokens: parseTokens(raw),
  });
}

const byTorch = "Other causal language models are opened by torch({ folder }), which computes them with transformers.";

function schemaError(json: unknown, issue: z.core.$ZodIssue): LudusError {
  let value = json;
  for (const key of issue.path) value = (value as Record<PropertyKey, unknown> | null | undefined)?.[key];
  const field = issue.path.join(".");
  return new LudusError(field === "model_type" ? "unsupported-model" : "bad-model-config", {
    got: `${field === "" ? "a config" : field} = ${(JSON.stringify(value) ?? "nothing").slice(0, 200)}`,
    expected: issue.message.replace(/^.*?: expected /, ""),
    hint: `The config must be a Hugging Face config.json of model type llama, qwen2 or qwen3. ${byTorch}`,
    cause: issue,
  });
}

function refuse(field: string, value: unknown, expected: string, hint: string): never {
  throw new LudusError("unsupported-model", {
    got: `${field} = ${JSON.stringify(value).slice(0, 200)}`,
    expected,
    hint,
  });
}

function refuseUnsupported(raw: HuggingFaceConfig): void {
  if (raw.hidden_act !== "silu") {
    refuse("hidden_act", raw.hidden_act, '"silu"', byTorch);
  }
  if (raw.quantization_config != null) {
    refuse("quantization_config", raw.quantization_config, "none", "Take the checkpoint it was quantized from.");
  }
  if ((raw.attention_dropout ?? 0) !== 0) {
    const hint = "Set it to 0 in config.json: Ludus trains without dropout.";
    refuse("attention_dropout", raw.attention_dropout, "0", hint);
  }
  if (raw.mlp_bias && raw.model_type !== "llama") {
    refuse("mlp_bias", true, `false for ${raw.model_type}`, "Set it to false in config.json: the weights have none.");
  }
  const part = raw.rope_scaling?.partial_rotary_factor ?? raw.rope_parameters?.partial_rotary_factor;
  if ((part ?? raw.partial_rotary_factor ?? 1) !== 1) {
    refuse("partial_rotary_factor", part ?? raw.partial_rotary_factor, "1", byTorch);
  }
  refuseSlidingWindow(raw);
}

function refuseSlidingWindow(raw: HuggingFaceConfig): void {
  const hint = `Choose full attention in config.json if no sequence will be longer than the window. ${byTorch}`;
  const otherType = raw.layer_types?.find((type) => type !== "full_attention");
  if (otherType !== undefined) refuse("layer_types", otherType, '"full_attention" in every layer', hint);
  if (raw.model_type === "llama" && raw.sliding_window != null) {
    refuse("sliding_window", raw.sliding_window, "null", hint);
  }
  // Qwen configs name a window even where it is off, and open it only for the layers from max_window_layers up.
  const someLayerSlides =
    raw.layer_types == null && raw.sliding_window !== null && raw.max_window_layers < raw.num_hidden_layers;
  if (raw.use_sliding_window === true && someLayerSlides) refuse("use_sliding_window", true, "false", hint);
}

function familyBiases(family: ModelConfig["family"], attention: boolean, feedForward: boolean): ModelConfig["biases"] {
  if (family === "qwen2") return { queryKeyValue: true, output: false, feedForward: false };
  return { queryKeyValue: attention, output: attention, feedForward };
}

function parseTokens(raw: HuggingFaceConfig): ModelConfig["tokens"] {
  // Absent is not null: the Llama class has defaults for what a config leaves out, the Qwen classes have none.
  const isLlama = raw.model_type === "llama";
  const bos = raw.bos_token_id === undefined && isLlama ? 1 : raw.bos_token_id;
  const eos = raw.eos_token_id === undefined && isLlama ? 2 : raw.eos_token_id;
  // Early Llama configs say -1 for "none".
  const known = (id: number | null | undefined): number | null => (id == null || id < 0 ? null : id);
  return { bos: known(bos), eos: [eos ?? []].flat().filter((id) => id >= 0), pad: known(raw.pad_token_id) };
}

function parseModelRope(raw: HuggingFaceConfig, contextLength: number): RopeConfig {
  // The order of precedence is that of transformers 5, where an empty object counts as absent.
  const field = Object.keys(raw.rope_scaling ?? {}).length === 0 ? "rope_parameters" : "rope_scaling";
  const rope = raw[field] ?? {};
  const theta = rope.rope_theta ?? raw.rope_theta ?? 10000;
  const originalContextLength =
    raw.original_max_position_embeddings ?? rope.original_max_position_embeddings ?? contextLength;
  return parseRope({ raw: rope, field, theta, contextLength, originalContextLength });
}

const sizes = [
  "vocabularySize",
  "width",
  "layers",
  "heads",
  "keyValueHeads",
  "headWidth",
  "feedForwardWidth",
  "contextLength",
] as const;

/** A description may come from anybody, and memory is taken by these numbers before any weight is read. */
const largest: Readonly<Record<(typeof sizes)[number], number>> = {
  vocabularySize: bounds.vocabulary,
  width: bounds.modelWidth,
  layers: bounds.modelLayers,
  heads: bounds.modelWidth,
  keyValueHeads: bounds.modelWidth,
  headWidth: bounds.modelWidth,
  feedForwardWidth: bounds.modelWidth,
  contextLength: bounds.modelRopeNumbers,
};

/** Returns a frozen copy, or throws where the numbers do not fit each other or the family. */
export function checkModelConfig(config: ModelConfig): ModelConfig {
  const demand = (holds: boolean, got: string, expected: string): void => {
    if (!holds) throw new LudusError("bad-model-config", { got, expected });
  };
  const { family, width, heads, keyValueHeads, headWidth, biases } = config;
  for (const size of sizes) {
    demand(Number.isSafeInteger(config[size]) && config[size] > 0, `${size} ${config[size]}`, "a whole number above 0");
    demand(config[size] <= largest[size], `${size} ${config[size]}`, `at most ${largest[size]}`);
  }
  const ropeNumbers = config.contextLength * headWidth;
  const most = Math.floor(bounds.modelRopeNumbers / headWidth);
  demand(ropeNumbers <= bounds.modelRopeNumbers, `contextLength ${config.contextLength}`, `at most ${most}`);
  demand(heads % keyValueHeads === 0, `heads ${heads}`, `a multiple of keyValueHeads ${keyValueHeads}`);
  demand(headWidth % 2 === 0, `headWidth ${headWidth}`, "an even number, as rope turns pairs");
  demand(family !== "llama" || width % heads === 0, `width ${width}`, `a multiple of heads ${heads} for llama`);
  // Other combinations cannot be said in a Hugging Face config, so they could be trained but not saved.
  const savable = familyBiases(family, biases.queryKeyValue, family === "llama" && biases.feedForward);
  for (const name of ["queryKeyValue", "output", "feedForward"] as const) {
    demand(biases[name] === savable[name], `biases.${name} ${biases[name]}`, `${savable[name]} for this ${family}`);
  }
  const hasNorm = family === "qwen3";
  demand(config.queryKeyNorm === hasNorm, `queryKeyNorm ${config.queryKeyNorm}`, `${hasNorm} for ${family}`);
  checkRope(config);
  return deepFreeze(structuredClone(config));
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value === "object" && value !== null) Object.values(Object.freeze(value)).forEach(deepFreeze);
  return value;
}

/** The `config.json` from which `AutoModelForCausalLM` makes the same model, in transformers 4 and 5 alike. */
export function toHuggingFaceConfig(config: ModelConfig): Record<string, unknown> {
  const { family, biases, tokens, rope } = checkModelConfig(config);
  const names = { llama: "LlamaForCausalLM", qwen2: "Qwen2ForCausalLM", qwen3: "Qwen3ForCausalLM" };
  const parameters = ropeToHuggingFace(rope);
  return {
    architectures: [names[family]],
    model_type: family,
    vocab_size: config.vocabularySize,
    hidden_size: config.width,
    intermediate_size: config.feedForwardWidth,
    num_hidden_layers: config.layers,
    num_attention_heads: config.heads,
    num_key_value_heads: config.keyValueHeads,
    head_dim: config.headWidth,
    hidden_act: "silu",
    max_position_embeddings: config.contextLength,
    initializer_range: config.initializerRange,
    rms_norm_eps: config.normEpsilon,
    tie_word_embeddings: config.tiedEmbeddings,
    attention_dropout: 0,
    use_cache: true,
    bos_token_id: tokens.bos,
    eos_token_id: tokens.eos.length > 1 ? [...tokens.eos] : (tokens.eos[0] ?? null),
    pad_token_id: tokens.pad,
    // Both styles: transformers 4 and many other readers know only the first two, version 5 writes the third.
    rope_theta: rope.theta,
    rope_scaling: rope.type === "default" ? null : parameters,
    rope_parameters: { ...parameters, rope_theta: rope.theta },
    torch_dtype: "float32",
    ...defined({ attention_bias: family === "qwen2" ? undefined : biases.queryKeyValue }),
    ...(family === "llama" ? { mlp_bias: biases.feedForward } : { use_sliding_window: false, sliding_window: null }),
  };
}

/** The parameter that gives values; other programs have none of this name. */
export const valueHeadName = "value_head.weight";

/**
 * Every trained tensor under its Hugging Face name, in the order of the PyTorch state dict. Matrices are `[out, in]`.
 * With tied embeddings there is no `lm_head.weight`; the value head, ours alone, comes last.
 */
export function parameterShapes(config: ModelConfig, options: { valueHead?: boolean } = {}): ParameterShape[] {
  const { width, headWidth, feedForwardWidth, biases } = config;
  const [queryWidth, keyWidth] = [config.heads * headWidth, config.keyValueHeads * headWidth];
  const linear = (name: string, out: number, into: number, bias: boolean): ParameterShape[] => [
    { name: `${name}.weight`, shape: [out, into] },
    ...(bias ? [{ name: `${name}.bias`, shape: [out] }] : []),
  ];
  const norm = (name: string, size: number): ParameterShape => ({ name: `${name}.weight`, shape: [size] });
  const layer = (at: string): ParameterShape[] => [
    ...linear(`${at}.self_attn.q_proj`, queryWidth, width, biases.queryKeyValue),
    ...linear(`${at}.self_attn.k_proj`, keyWidth, width, biases.queryKeyValue),
    ...linear(`${at}.self_attn.v_proj`, keyWidth, width, biases.queryKeyValue),
    ...linear(`${at}.self_attn.o_proj`, width, queryWidth, biases.output),
    ...(config.queryKeyNorm
      ? [norm(`${at}.self_attn.q_norm`, headWidth), norm(`${at}.self_attn.k_norm`, headWidth)]
      : []),
    ...linear(`${at}.mlp.gate_proj`, feedForwardWidth, width, biases.feedForward),
    ...linear(`${at}.mlp.up_proj`, feedForwardWidth, width, biases.feedForward),
    ...linear(`${at}.mlp.down_proj`, width, feedForwardWidth, biases.feedForward),
    norm(`${at}.input_layernorm`, width),
    norm(`${at}.post_attention_layernorm`, width),
  ];
  return [
    { name: "model.embed_tokens.weight", shape: [config.vocabularySize, width] },
    ...Array.from({ length: config.layers }, (_, index) => layer(`model.layers.${index}`)).flat(),
    norm("model.norm", width),
    ...(config.tiedEmbeddings ? [] : [{ name: "lm_head.weight", shape: [config.vocabularySize, width] }]),
    ...(options.valueHead === true ? [{ name: valueHeadName, shape: [1, width] }] : []),
  ];
}

export function countParameters(config: ModelConfig, options: { valueHead?: boolean } = {}): number {
  return parameterShapes(config, options).reduce(
    (sum, { shape }) => sum + shape.reduce((size, axis) => size * axis, 1),
    0,
  );
}

/** What a preset leaves to the caller; widths that are not given follow from those that are. */
export type PresetOptions = Partial<ModelConfig> & { readonly vocabularySize: number };

const knownModelFields: KnownOptions<PresetOptions> = {
  family: true,
  vocabularySize: true,
  width: true,
  layers: true,
  heads: true,
  keyValueHeads: true,
  headWidth: true,
  feedForwardWidth: true,
  contextLength: true,
  normEpsilon: true,
  tiedEmbeddings: true,
  biases: true,
  queryKeyNorm: true,
  rope: true,
  initializerRange: true,
  tokens: true,
};

interface PresetShape {
  width: number;
  layers: number;
  contextLength: number;
  /** Query heads per key/value head. */
  group: number;
}

/** About 0.3M parameters with a byte vocabulary: learns a toy task in seconds. */
export function tiny(options: PresetOptions): ModelConfig {
  return preset(options, { width: 96, layers: 3, contextLength: 512, group: 3 });
}

/** About 0.8M parameters with a byte vocabulary. */
export function small(options: PresetOptions): ModelConfig {
  return preset(options, { width: 128, layers: 4, contextLength: 1024, group: 1 });
}

/** About 5M parameters with a byte vocabulary; grouped key/value heads halve what decoding reads. */
export function base(options: PresetOptions): ModelConfig {
  return preset(options, { width: 256, layers: 7, contextLength: 2048, group: 2 });
}

/** Configurations to train from scratch: `models.tiny({ vocabularySize })`. */
export const models: Readonly<Record<"tiny" | "small" | "base", (options: PresetOptions) => ModelConfig>> = {
  tiny,
  small,
  base,
};

function preset(options: PresetOptions, shape: PresetShape): ModelConfig {
  refuseUnknownOptions("models", options, knownModelFields);
  const { family = "llama", width = shape.width, headWidth = 32 } = options;
  const heads = options.heads ?? Math.floor(width / headWidth);
  return checkModelConfig({
    family,
    width,
    layers: shape.layers,
    heads,
    keyValueHeads: heads % shape.group === 0 ? heads / shape.group : heads,
    headWidth,
    // SwiGLU has three matrices where a plain feed-forward has two: 8/3 of the width costs as much as the usual 4.
    feedForwardWidth: Math.max(32, Math.round((width * 8) / 3 / 32) * 32),
    contextLength: shape.contextLength,
    normEpsilon: 1e-6,
    tiedEmbeddings: true,
    biases: familyBiases(family, false, false),
    queryKeyNorm: family === "qwen3",
    rope: { type: "default", theta: 10000 },
    initializerRange: 0.02,
    tokens: { bos: null, eos: [], pad: null },
    ...options,
  });
}
