import { defined } from "../defined.ts";
import type { KnownOptions } from "../known-options.ts";
import { type ControlTokenOptions, roleTokens } from "./control-tokens.ts";
import { defaultChatTemplate } from "./default-chat-template.ts";
import type { TokenizerFiles } from "./tokenizer.ts";
import type { AddedTokenConfig } from "./tokenizer-json.ts";

export interface ByteLevelModel {
  readonly vocab: Readonly<Record<string, number>>;
  readonly merges: readonly (readonly [string, string])[];
  /** Oniguruma; none where there are no merges to keep apart. */
  readonly splitRegex?: string;
}

export interface ByteLevelOptions extends ControlTokenOptions {
  /** A Jinja template; `defaultChatTemplate` by default, where the tokenizer has its tokens. */
  chatTemplate?: string;
}

export const knownByteLevelOptions: KnownOptions<ByteLevelOptions> = {
  eos: true,
  chatTemplate: true,
  special: true,
  markup: true,
  pad: true,
  bos: true,
};

/** The files of a byte-level BPE tokenizer, such that transformers and `tokenizerFromFiles` read the same. */
export function byteLevelFiles(
  { splitRegex, ...model }: ByteLevelModel,
  addedTokens: readonly AddedTokenConfig[],
  options: ByteLevelOptions,
): TokenizerFiles {
  const bytes = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: false };
  const split = { type: "Split", pattern: { Regex: splitRegex }, behavior: "Isolated", invert: false };
  const json = {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: addedTokens,
    normalizer: null,
    pre_tokenizer: splitRegex === undefined ? bytes : { type: "Sequence", pretokenizers: [split, bytes] },
    post_processor: null,
    decoder: bytes,
    model: {
      type: "BPE",
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      ...model,
    },
  };
  const config = {
    tokenizer_class: "PreTrainedTokenizerFast",
    clean_up_tokenization_spaces: false,
    // explicit, because the class that transformers takes for a `qwen2` model would otherwise add tokens of its own
    bos_token: null,
    unk_token: null,
    ...roleTokens(addedTokens, options),
  };
  const hasTurns = ["<|im_start|>", "<|im_end|>"].every((text) => addedTokens.some((token) => token.content === text));
  const chatTemplate = options.chatTemplate ?? (hasTurns ? defaultChatTemplate : undefined);
  return {
    "tokenizer.json": JSON.stringify(json),
    "tokenizer_config.json": JSON.stringify(config, null, 2),
    ...defined({ "chat_template.jinja": chatTemplate }),
  };
}
