import { describe, expect, test } from "vitest";
import {
  base,
  checkModelConfig,
  countParameters,
  type ModelConfig,
  parameterShapes,
  parseModelConfig,
  small,
  tiny,
  toHuggingFaceConfig,
} from "./model-config.ts";

/** As Qwen2.5-0.5B-Instruct publishes it, in the style of transformers 4. */
const qwen2 = {
  architectures: ["Qwen2ForCausalLM"],
  attention_dropout: 0.0,
  bos_token_id: 151643,
  eos_token_id: 151645,
  hidden_act: "silu",
  hidden_size: 896,
  initializer_range: 0.02,
  intermediate_size: 4864,
  max_position_embeddings: 32768,
  max_window_layers: 21,
  model_type: "qwen2",
  num_attention_heads: 14,
  num_hidden_layers: 24,
  num_key_value_heads: 2,
  rms_norm_eps: 1e-6,
  rope_theta: 1000000.0,
  sliding_window: 32768,
  tie_word_embeddings: true,
  torch_dtype: "bfloat16",
  use_sliding_window: false,
  vocab_size: 151936,
};

const llama = {
  model_type: "llama",
  vocab_size: 100,
  hidden_size: 64,
  intermediate_size: 160,
  num_hidden_layers: 2,
  num_attention_heads: 4,
};

describe("parseModelConfig", () => {
  test("reads a published Qwen2.5 config", () => {
    const config = parseModelConfig(qwen2);
    expect(config).toMatchObject({
      family: "qwen2",
      width: 896,
      headWidth: 64,
      keyValueHeads: 2,
      tiedEmbeddings: true,
    });
    expect(config.biases).toEqual({ queryKeyValue: true, output: false, feedForward: false });
    expect(config.rope).toEqual({ type: "default", theta: 1000000 });
    expect(config.tokens).toEqual({ bos: 151643, eos: [151645], pad: null });
    expect(countParameters(config)).toBe(494032768);
  });

  test("fills in what each family's class would", () => {
    expect(parseModelConfig(llama)).toMatchObject({
      keyValueHeads: 4,
      headWidth: 16,
      contextLength: 2048,
      tiedEmbeddings: false,
      tokens: { bos: 1, eos: [2], pad: null },
      rope: { type: "default", theta: 10000 },
    });
    expect(parseModelConfig({ ...llama, model_type: "qwen3" })).toMatchObject({
      headWidth: 128,
      contextLength: 32768,
      queryKeyNorm: true,
      tokens: { bos: null, eos: [], pad: null },
    });
  });

  test("rope is the same in the styles of transformers 4 and 5", () => {
    const scaling = { factor: 8, low_freq_factor: 1, high_freq_factor: 4, original_max_position_embeddings: 8192 };
    const rope = { type: "llama3", theta: 5e5, factor: 8, originalContextLength: 8192 };
    const expected = { ...rope, lowFrequencyFactor: 1, highFrequencyFactor: 4 };
    const old = { ...llama, rope_theta: 5e5, rope_scaling: { rope_type: "llama3", ...scaling } };
    const recent = { ...llama, rope_parameters: { rope_type: "llama3", rope_theta: 5e5, ...scaling } };
    expect(parseModelConfig(old).rope).toEqual(expected);
    expect(parseModelConfig(recent).rope).toEqual(expected);
    const oldest = { ...llama, rope_scaling: { type: "linear", factor: 2 } };
    expect(parseModelConfig(oldest).rope).toEqual({ type: "linear", theta: 10000, factor: 2 });
  });

  test("yarn gets its defaults", () => {
    const scaling = { type: "yarn", factor: 4, original_max_position_embeddings: 32768 };
    expect(parseModelConfig({ ...qwen2, rope_scaling: scaling }).rope).toEqual({
      type: "yarn",
      theta: 1000000,
      factor: 4,
      originalContextLength: 32768,
      attentionFactor: 0.1 * Math.log(4) + 1,
      betaFast: 32,
      betaSlow: 1,
      truncate: true,
    });
  });

  test.each([
    ["model_type", { model_type: "mistral" }],
    ["hidden_act", { hidden_act: "gelu" }],
    ["quantization_config", { quantization_config: { quant_method: "gptq" } }],
    ["attention_dropout", { attention_dropout: 0.1 }],
    ["mlp_bias", { model_type: "qwen2", mlp_bias: true }],
    ["partial_rotary_factor", { partial_rotary_factor: 0.5 }],
    ["partial_rotary_factor", { rope_parameters: { rope_type: "default", partial_rotary_factor: 0.5 } }],
    ["sliding_window", { sliding_window: 512 }],
    ["use_sliding_window", { model_type: "qwen2", use_sliding_window: true, max_window_layers: 0 }],
    ["layer_types", { model_type: "qwen3", layer_types: ["full_attention", "sliding_attention"] }],
    ["rope_scaling.rope_type", { rope_scaling: { type: "su", factor: 2 } }],
    ["rope_parameters.full_attention", { rope_parameters: { full_attention: { rope_type: "default" } } }],
  ])("refuses what it cannot compute: %s", (field, change) => {
    expect(() => parseModelConfig({ ...llama, ...change })).toThrow(`unsupported-model: got ${field}`);
  });

  test.each([
    ["hidden_size", { hidden_size: "64" }],
    ["vocab_size", { vocab_size: 0 }],
    ["num_hidden_layers", { num_hidden_layers: undefined }],
    ["rope_scaling.factor", { rope_scaling: { type: "linear", factor: -1 } }],
    ["no rope_scaling.factor", { rope_scaling: { type: "linear" } }],
    ["no rope_scaling.short_factor", { rope_scaling: { type: "longrope", factor: 2 } }],
    [
      "3 longrope factors",
      { rope_scaling: { type: "longrope", factor: 2, short_factor: [1, 1, 1], long_factor: [1] } },
    ],
    [
      "rope frequency factors",
      { rope_scaling: { type: "llama3", factor: 2, low_freq_factor: 4, high_freq_factor: 4 } },
    ],
    ["heads 4", { num_key_value_heads: 3 }],
    ["width 65", { hidden_size: 65 }],
    ["headWidth 15", { head_dim: 15 }],
  ])("refuses numbers that do not fit: %s", (field, change) => {
    expect(() => parseModelConfig({ ...llama, ...change })).toThrow(`bad-model-config: got ${field}`);
  });

  test("a Qwen window that reaches no layer is no window", () => {
    const noneSlides = { ...qwen2, use_sliding_window: true, max_window_layers: 24 };
    expect(parseModelConfig(noneSlides)).toEqual(parseModelConfig(qwen2));
  });

  test("refuses what is no object", () => {
    for (const json of [null, "llama", []])
      expect(() => parseModelConfig(json)).toThrow("bad-model-config: got a config");
  });

  test("the result is frozen through and survives structuredClone", () => {
    const config = parseModelConfig(qwen2);
    expect(structuredClone(config)).toEqual(config);
    for (const part of [config, config.rope, config.tokens, config.tokens.eos, config.biases]) {
      expect(Object.isFrozen(part)).toBe(true);
    }
  });
});

describe("toHuggingFaceConfig", () => {
  const [low, high] = [Array.from({ length: 16 }, () => 1), Array.from({ length: 16 }, (_, i) => 1 + i)];
  const stretch = { theta: 5000, factor: 4, originalContextLength: 128 };
  const ropes: ModelConfig["rope"][] = [
    { type: "default", theta: 1e6 },
    { type: "linear", theta: 5000, factor: 2 },
    { type: "dynamic", theta: 5000, factor: 2 },
    { type: "yarn", ...stretch, attentionFactor: 1.25, betaFast: 16, betaSlow: 2, truncate: false },
    { type: "llama3", ...stretch, lowFrequencyFactor: 1, highFrequencyFactor: 4 },
    { type: "longrope", ...stretch, attentionFactor: 1.5, shortFactors: low, longFactors: high },
  ];

  test.each(["llama", "qwen2", "qwen3"] as const)("parses back to the same config: %s", (family) => {
    for (const rope of ropes) {
      for (const eos of [[], [3], [3, 4]]) {
        const config = tiny({ vocabularySize: 50, family, rope, tokens: { bos: 1, eos, pad: 0 } });
        expect(parseModelConfig(JSON.parse(JSON.stringify(toHuggingFaceConfig(config))))).toEqual(config);
      }
    }
  });

  test("refuses what no Hugging Face class has", () => {
    const config = tiny({ vocabularySize: 50, family: "qwen2" });
    const biases = { queryKeyValue: false, output: false, feedForward: false };
    expect(() => toHuggingFaceConfig({ ...config, biases })).toThrow("true for this qwen2");
    expect(() => checkModelConfig({ ...config, queryKeyNorm: true })).toThrow("false for qwen2");
    expect(() => tiny({ vocabularySize: 1.5 })).toThrow("vocabularySize 1.5");
  });
});

describe("parameters", () => {
  test("names and shapes of a Qwen3 layer, untied, with a value head", () => {
    const shape = { width: 64, heads: 4, keyValueHeads: 2, feedForwardWidth: 96 };
    const config = tiny({ vocabularySize: 50, family: "qwen3", layers: 1, tiedEmbeddings: false, ...shape });
    const lines = parameterShapes(config, { valueHead: true }).map(({ name, shape }) => `${name} ${shape.join("x")}`);
    expect(lines).toEqual([
      "model.embed_tokens.weight 50x64",
      "model.layers.0.self_attn.q_proj.weight 128x64",
      "model.layers.0.self_attn.k_proj.weight 64x64",
      "model.layers.0.self_attn.v_proj.weight 64x64",
      "model.layers.0.self_attn.o_proj.weight 64x128",
      "model.layers.0.self_attn.q_norm.weight 32",
      "model.layers.0.self_attn.k_norm.weight 32",
      "model.layers.0.mlp.gate_proj.weight 96x64",
      "model.layers.0.mlp.up_proj.weight 96x64",
      "model.layers.0.mlp.down_proj.weight 64x96",
      "model.layers.0.input_layernorm.weight 64",
      "model.layers.0.post_attention_layernorm.weight 64",
      "model.norm.weight 64",
      "lm_head.weight 50x64",
      "value_head.weight 1x64",
    ]);
  });

  test("presets have the sizes they promise", () => {
    expect(countParameters(tiny({ vocabularySize: 265 }))).toBe(321024);
    expect(countParameters(small({ vocabularySize: 265 }))).toBe(837888);
    expect(countParameters(small({ vocabularySize: 265, family: "qwen2" }))).toBe(839424);
    expect(countParameters(base({ vocabularySize: 265 }))).toBe(5060608);
  });

  test("a preset's widths follow the ones given", () => {
    const config = base({ vocabularySize: 300, width: 192, family: "llama" });
    expect(config).toMatchObject({ heads: 6, keyValueHeads: 3, headWidth: 32, feedForwardWidth: 512 });
    expect(config.biases).toEqual({ queryKeyValue: false, output: false, feedForward: false });
  });
});
