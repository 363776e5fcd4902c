import { z } from "zod";
import { LudusError } from "../../errors.ts";
import { parseModelConfig } from "./model-config.ts";

const Described = z.looseObject({
  model_type: z.string(),
  architectures: z.array(z.string()).nullish(),
  is_encoder_decoder: z.boolean().nullish(),
  quantization_config: z.unknown().optional(),
});

/** Refuses a config.json that no engine opens: neither one of the families of `parseModelConfig`, nor a causal language model. */
export function checkLanguageModel(json: unknown): void {
  try {
    parseModelConfig(json);
  } catch (error) {
    const config = Described.safeParse(json).data;
    if (!(error instanceof LudusError) || error.code !== "unsupported-model" || config === undefined) throw error;
    const refusal = refusalOf(config);
    if (refusal !== undefined) throw new LudusError("unsupported-model", { ...refusal, cause: error });
  }
}

function refusalOf({ model_type, architectures, is_encoder_decoder, quantization_config }: z.infer<typeof Described>) {
  const got = `model_type = "${model_type}" with`;
  if (quantization_config != null) {
    const hint = "Take the checkpoint it was quantized from.";
    return { got: `${got} quantization_config`.slice(0, 300), expected: "a model that is not quantized", hint };
  }
  // names of transformers' classes: MistralForCausalLM, GPT2LMHeadModel
  const isCausal = architectures?.some((name) => /(ForCausalLM|LMHeadModel)$/.test(name)) === true;
  if (isCausal && is_encoder_decoder !== true) return undefined;
  return {
    got: `${got} architectures ${JSON.stringify(architectures ?? null)}`.slice(0, 300),
    expected: "a causal language model, such as LlamaForCausalLM or MistralForCausalLM",
    hint: "Encoder-decoder, encoder-only, vision and speech models are not trained here.",
  };
}
