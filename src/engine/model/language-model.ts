import { z } from "zod";
import { LudusError } from "../../errors.ts";
import { parseModelConfig } from "./model-config.ts";

const Described = z.looseObject({
  model_type: z.string(),
  architectures: z.array(z.string()).nullish(),
  is_encoder_decoder: z.boolean().nullish(),
  quantization_config: z.unknown(),
});

/** Refuses a config.json that no engine opens: neither one of the families of `parseModelConfig`, nor a causal language model. */
export function checkLanguageModel(json: unknown): void {
  try {
    parseModelConfig(json);
  } catch (error) {
    const isOther = error instanceof LudusError && error.code === "unsupported-model";
    const config = Described.safeParse(json).data;
    if (!isOther || config === undefined || config.quantization_config != null) throw error;
    // names of transformers' classes: MistralForCausalLM, GPT2LMHeadModel
    const isCausal = config.architectures?.some((name) => /(ForCausalLM|LMHeadModel)$/.test(name)) === true;
    if (isCausal && config.is_encoder_decoder !== true) return;
    throw new LudusError("unsupported-model", {
      got: `model_type = "${config.model_type}" with architectures ${JSON.stringify(config.architectures ?? null)}`.slice(
        0,
        300,
      ),
      expected: "a causal language model, such as LlamaForCausalLM or MistralForCausalLM",
      hint: "Encoder-decoder, encoder-only, vision and speech models are not trained here.",
      cause: error,
    });
  }
}
