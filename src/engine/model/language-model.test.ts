import { expect, test } from "vitest";
import { checkLanguageModel } from "./language-model.ts";
import { parseModelConfig, tiny, toHuggingFaceConfig } from "./model-config.ts";

const mistral = { model_type: "mistral", architectures: ["MistralForCausalLM"], vocab_size: 32 };

test("models that some engine opens pass", () => {
  const own = toHuggingFaceConfig(tiny({ vocabularySize: 32 }));
  for (const config of [
    own,
    { ...own, hidden_act: "gelu" },
    mistral,
    { ...mistral, architectures: ["GPT2LMHeadModel"] },
  ])
    expect(() => checkLanguageModel(config)).not.toThrow();
});

test.each<[string, object]>([
  ["an encoder-decoder", { ...mistral, is_encoder_decoder: true }],
  ["another task", { ...mistral, architectures: ["MistralForSequenceClassification"] }],
  ["no architecture", { model_type: "mamba", vocab_size: 32 }],
  ["a quantized model", { ...mistral, quantization_config: { bits: 4 } }],
])("%s is refused by its model_type", (_, config) => {
  expect(() => checkLanguageModel(config)).toThrow(/^unsupported-model: got model_type = "m/);
});

test("what is no configuration is refused as such", () => {
  for (const config of [null, 3, [], {}, { ...toHuggingFaceConfig(tiny({ vocabularySize: 32 })), vocab_size: -1 }])
    expect(() => checkLanguageModel(config)).toThrow(/bad-model-config|unsupported-model/);
});

test("the embedded engine's own reader names its families and torch()", () => {
  expect(() => parseModelConfig(mistral)).toThrow(/"mistral".*llama, qwen2 or qwen3.*torch\(\{ folder \}\)/s);
});
