import { defined } from "../../../defined.ts";
import { LudusError } from "../../../errors.ts";
import { llama3Regex, qwen2Regex, wordRegex } from "../../../policy/guarded-pattern.ts";
import type { Tokenizer } from "../../../policy/tokenizer.ts";
import { parseTokenizerConfig } from "../../../policy/tokenizer-config.ts";
import { type AddedTokenConfig, parseTokenizerJson, type TokenizerPipeline } from "../../../policy/tokenizer-json.ts";
import type { ModelConfig } from "../model-config.ts";
import type { GgufMetadata, GgufValue } from "./gguf-file.ts";
import { type Merge, ownWords, type Words } from "./gguf-own-words.ts";
import { refusedTokenizer } from "./refused-tokenizer.ts";

type BytePairs = Extract<TokenizerPipeline["model"], { type: "BPE" }>;

/** llama.cpp's kinds of tokens. */
const kinds = { normal: 1, control: 3, userDefined: 4, unused: 5 } as const;

/** Tokens, merges, roles and chat template of a tokenizer, as llama.cpp reads them. Refuses one that it would read otherwise. */
export function tokenizerMetadata(tokenizer: Tokenizer, config: ModelConfig): GgufMetadata {
  const files = tokenizer.files();
  const pipeline = parseTokenizerJson(JSON.parse(files["tokenizer.json"]));
  const read = (name: string): object => JSON.parse(files[name] ?? "{}");
  const roles = { ...read("special_tokens_map.json"), ...read("tokenizer_config.json") };
  const { addedTokens } = parseTokenizerConfig(roles, pipeline);
  const model = bytePairsOf(pipeline);
  const merges = model.merges.map(mergeOf);
  const { pre, numbers } = wordsOf(pipeline, model, merges, addedTokens);
  const tokens = Array.from({ length: config.vocabularySize }, (_, id) => `[UNUSED${id}]`);
  const types: number[] = tokens.map(() => kinds.unused);
  const put = (id: number, token: string, kind: number): void => {
    if (id >= tokens.length) {
      const expected = `ids below the model's vocabulary of ${tokens.length}`;
      throw new LudusError("tokenizer-too-large", { got: `token ${JSON.stringify(token)} with id ${id}`, expected });
    }
    [tokens[id], types[id]] = [token, kind];
  };
  for (const [token, id] of Object.entries(model.vocab)) {
    if (numbers.has(token)) put(id, token.replace("Ġ", " "), kinds.userDefined);
    else put(id, token, kinds.normal);
  }
  for (const token of addedTokens) {
    const flag = (["single_word", "lstrip", "rstrip"] as const).find((name) => token[name]);
    if (flag !== undefined)
      throw refusedTokenizer(`added token ${JSON.stringify(token.content)} with ${flag}`, "none with it");
    put(token.id, token.content, token.special ? kinds.control : kinds.userDefined);
  }
  const written = merges.filter(([left, right]) => !numbers.has(`${left}${right}`));
  return {
    "tokenizer.ggml.model": { type: "string", value: "gpt2" },
    "tokenizer.ggml.pre": { type: "string", value: pre },
    "tokenizer.ggml.tokens": { type: "strings", value: tokens },
    "tokenizer.ggml.token_type": { type: "int32s", value: types },
    "tokenizer.ggml.merges": { type: "strings", value: written.map(([left, right]) => `${left} ${right}`) },
    ...roleMetadata(tokenizer, config),
  };
}

/** The policy's prompts are whole: no token is put before or after them. */
function roleMetadata({ specialTokens, chatTemplate }: Tokenizer, { tokens }: ModelConfig): GgufMetadata {
  const uint32 = (value: number | null | undefined): GgufValue | undefined =>
    value == null ? undefined : { type: "uint32", value };
  const ends = [...new Set([specialTokens.eos?.id ?? [], tokens.eos].flat())];
  return {
    ...defined({
      "tokenizer.ggml.bos_token_id": uint32(specialTokens.bos?.id ?? tokens.bos),
      "tokenizer.ggml.eos_token_id": uint32(ends[0]),
      "tokenizer.ggml.eot_token_id": uint32(ends[1]),
      "tokenizer.ggml.eom_token_id": uint32(ends[2]),
      "tokenizer.ggml.padding_token_id": uint32(specialTokens.pad?.id ?? tokens.pad),
    }),
    "tokenizer.ggml.add_bos_token": { type: "bool", value: false },
    "tokenizer.ggml.add_eos_token": { type: "bool", value: false },
    ...(chatTemplate === undefined ? {} : { "tokenizer.chat_template": { type: "string", value: chatTemplate } }),
  };
}

function bytePairsOf({ model, decoder, normalizer }: TokenizerPipeline): BytePairs {
  if (model.type !== "BPE") throw refusedTokenizer(`a tokenizer of type ${model.type}`, "byte-level BPE");
  const isByteLevel = decoder?.length === 1 && decoder[0].type === "ByteLevel";
  if (!isByteLevel || model.byte_fallback === true) {
    throw refusedTokenizer(
      "BPE over characters, as SentencePiece makes it",
      "byte-level BPE, as GPT-2, Llama 3 and Qwen have it",
    );
  }
  const other = normalizer.find(({ type }) => type !== "NFC");
  if (other !== undefined) throw refusedTokenizer(`a normalizer of type ${other.type}`, "none, or NFC");
  for (const option of ["continuing_subword_prefix", "end_of_word_suffix"] as const) {
    if (model[option]) throw refusedTokenizer(`a model with ${option}`, "one without");
  }
  return model;
}

function mergeOf(merge: string | Merge): Merge {
  if (typeof merge !== "string") return merge;
  const [left, right] = merge.split(" ", 2);
  return [left, right];
}

/**
 * llama.cpp has its ways of cutting text into words built in, each under a name. A tokenizer that cuts otherwise cannot be written.
 */
function wordsOf(
  { preTokenizer }: TokenizerPipeline,
  model: BytePairs,
  merges: readonly Merge[],
  addedTokens: readonly AddedTokenConfig[],
): Words {
  // without merges every byte is a token, however text is cut
  if (merges.length === 0) return named("gpt-2");
  const steps = preTokenizer.map((step) =>
    step.type === "ByteLevel" ? { ...step, kind: step.use_regex ? "words" : "bytes" } : { ...step, kind: step.type },
  );
  if (steps.some((step) => step.type === "ByteLevel" && step.add_prefix_space))
    throw refusedTokenizer("ByteLevel with add_prefix_space", "none");
  const kindsOf = steps.map(({ kind }) => kind).join(" ");
  const ignoresMerges = model.ignore_merges === true;
  if (kindsOf === "words" && !ignoresMerges) return named("gpt-2");
  if (kindsOf === "Digits words" && !ignoresMerges && isSingleDigits(preTokenizer[0])) return named("smollm");
  const [split] = preTokenizer;
  if (kindsOf === "Split bytes" && split.type === "Split" && split.behavior === "Isolated" && !split.invert) {
    const regex = "Regex" in split.pattern ? split.pattern.Regex : "";
    // of the same expression, and without ignore_merges
    if (regex === llama3Regex) return named(ignoresMerges ? "llama-bpe" : "dbrx");
    if (regex === qwen2Regex && !ignoresMerges) return named("qwen2");
    if (regex === wordRegex && !ignoresMerges) return ownWords(merges, addedTokens);
  }
  throw refusedTokenizer(
    `a pre-tokenizer of ${kindsOf === "" ? "no steps" : kindsOf}${ignoresMerges ? " with ignore_merges" : ""}, of an expression that llama.cpp does not have`,
    "that of GPT-2, SmolLM, Llama 3, Qwen 2 or Qwen 3",
  );
}

function named(pre: string): Words {
  return { pre, numbers: new Set() };
}

function isSingleDigits(step: TokenizerPipeline["preTokenizer"][number]): boolean {
  return step.type === "Digits" && step.individual_digits;
}
