import { z } from "zod";
import { bounds } from "../bounds.ts";
import { defined } from "../defined.ts";
import { LudusError } from "../errors.ts";

// The parts of tokenizer.json and tokenizer_config.json that decide what a text's tokens are. Sequences are flattened: a
// sequence in a sequence is only a longer one.

const shortText = z.string().max(bounds.addedTokenChars);
const tokenId = z
  .int()
  .nonnegative()
  .max(bounds.vocabulary - 1);

const Pattern = z.union([z.object({ String: shortText }), z.object({ Regex: z.string() })]);
export type Pattern = z.infer<typeof Pattern>;

const SplitBehavior = z.enum(["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]);
export type SplitBehavior = z.infer<typeof SplitBehavior>;

const PrependScheme = z.enum(["always", "first", "never"]);
const replacement = shortText.default("▁");

const NormalizerStep = z.discriminatedUnion("type", [
  z.object({ type: z.enum(["NFC", "NFD", "NFKC", "NFKD"]) }),
  z.object({ type: z.enum(["Lowercase", "StripAccents", "ByteLevel"]) }),
  z.object({ type: z.literal("Strip"), strip_left: z.boolean().default(true), strip_right: z.boolean().default(true) }),
  z.object({ type: z.literal("Replace"), pattern: Pattern, content: shortText }),
  z.object({ type: z.literal("Prepend"), prepend: shortText }),
  z.object({
    type: z.literal("BertNormalizer"),
    clean_text: z.boolean().default(true),
    handle_chinese_chars: z.boolean().default(true),
    strip_accents: z.boolean().nullish(),
    lowercase: z.boolean().default(true),
  }),
  z.looseObject({ type: z.literal("Precompiled") }),
]);
export type NormalizerStep = z.infer<typeof NormalizerStep>;

const PreTokenizerStep = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("ByteLevel"),
    add_prefix_space: z.boolean().default(false),
    use_regex: z.boolean().default(true),
  }),
  z.object({ type: z.literal("Split"), pattern: Pattern, behavior: SplitBehavior, invert: z.boolean().default(false) }),
  z.object({
    type: z.literal("Metaspace"),
    replacement,
    prepend_scheme: PrependScheme.optional(),
    add_prefix_space: z.boolean().optional(),
    split: z.boolean().default(true),
  }),
  z.object({ type: z.enum(["Whitespace", "WhitespaceSplit", "BertPreTokenizer"]) }),
  z.object({ type: z.literal("Punctuation"), behavior: SplitBehavior.default("Isolated") }),
  z.object({ type: z.literal("Digits"), individual_digits: z.boolean().default(false) }),
  z.object({ type: z.literal("CharDelimiterSplit"), delimiter: z.string() }),
  z.object({ type: z.literal("FixedLength"), length: z.number().int().positive() }),
]);
export type PreTokenizerStep = z.infer<typeof PreTokenizerStep>;

const DecoderStep = z.discriminatedUnion("type", [
  z.object({ type: z.enum(["ByteLevel", "ByteFallback", "Fuse"]) }),
  z.object({ type: z.literal("Replace"), pattern: Pattern, content: shortText }),
  z.object({ type: z.literal("Strip"), content: shortText.min(1), start: z.number(), stop: z.number() }),
  z.object({ type: z.literal("Metaspace"), replacement, prepend_scheme: PrependScheme.default("always") }),
  z.object({ type: z.literal("WordPiece"), prefix: z.string().default("##"), cleanup: z.boolean().default(true) }),
  z.object({ type: z.literal("BPEDecoder"), suffix: z.string().default("</w>") }),
]);
export type DecoderStep = z.infer<typeof DecoderStep>;

const AddedToken = z.object({
  id: tokenId,
  content: shortText,
  single_word: z.boolean().default(false),
  lstrip: z.boolean().default(false),
  rstrip: z.boolean().default(false),
  normalized: z.boolean().default(true),
  special: z.boolean().default(false),
});
export type AddedTokenConfig = z.infer<typeof AddedToken>;

const vocabulary = z.record(z.string(), tokenId);
const Model = z.discriminatedUnion("type", [
  z.looseObject({
    type: z.literal("BPE"),
    vocab: vocabulary,
    merges: z.array(z.union([z.string(), z.tuple([z.string(), z.string()])])),
    unk_token: z.string().nullish(),
    continuing_subword_prefix: z.string().nullish(),
  }),
  z.looseObject({
    type: z.enum(["WordPiece", "WordLevel"]),
    vocab: vocabulary,
    unk_token: z.string().nullish(),
    max_input_chars_per_word: z.int().positive().max(bounds.addedTokenChars).optional(),
  }),
  z.looseObject({
    type: z.literal("Unigram"),
    vocab: z.array(z.tuple([z.string(), z.number()])).max(bounds.vocabulary),
    unk_id: z.number().nullish(),
    byte_fallback: z.boolean().default(false),
  }),
]);
export type ModelConfig = z.infer<typeof Model>;

const Json = z.looseObject({
  added_tokens: z.array(AddedToken).max(bounds.addedTokens).default([]),
  model: z.looseObject({ type: z.string().optional() }),
});

export interface TokenizerPipeline {
  readonly addedTokens: readonly AddedTokenConfig[];
  readonly normalizer: readonly NormalizerStep[];
  readonly preTokenizer: readonly PreTokenizerStep[];
  readonly model: ModelConfig;
  /** Absent where tokens are joined with spaces. */
  readonly decoder?: readonly DecoderStep[];
}

/** Reads a parsed tokenizer.json, and refuses what would be tokenized otherwise than Hugging Face's tokenizers do. */
export function parseTokenizerJson(json: unknown): TokenizerPipeline {
  const parsed = check(Json, json, "tokenizer.json");
  const decoder = steps(parsed.decoder, "decoders", DecoderStep, "decoder");
  return {
    addedTokens: parsed.added_tokens,
    normalizer: steps(parsed.normalizer, "normalizers", NormalizerStep, "normalizer"),
    preTokenizer: steps(parsed.pre_tokenizer, "pretokenizers", PreTokenizerStep, "pre_tokenizer"),
    model: check(Model, { ...parsed.model, type: parsed.model.type ?? inferModelType(parsed.model) }, "model"),
    ...defined({ decoder: parsed.decoder == null ? undefined : decoder }),
  };
}

function steps<Step>(raw: unknown, listKey: string, schema: z.ZodType<Step>, part: string): Step[] {
  if (raw == null) return [];
  const component = check(z.looseObject({ type: z.string() }), raw, part);
  if (component.type !== "Sequence") return [check(schema, component, part)];
  const list = check(z.array(z.unknown()), component[listKey], `${part}.${listKey}`);
  const flat = list.flatMap((entry) => steps(entry, listKey, schema, part));
  check(z.array(z.unknown()).max(bounds.tokenizerSteps), flat, `${part}.${listKey}`);
  return flat;
}

// files from before tokenizers 0.10 do not say which model they hold
function inferModelType(model: Readonly<Record<string, unknown>>): string {
  if (Array.isArray(model.vocab)) return "Unigram";
  if ("merges" in model) return "BPE";
  return "continuing_subword_prefix" in model ? "WordPiece" : "WordLevel";
}

/** Parses with a schema; what does not fit is an error that names the part, the place and the value's type. */
export function check<Value>(schema: z.ZodType<Value>, value: unknown, part: string): Value {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const type =
    typeof value === "object" && value !== null && "type" in value ? ` of type ${JSON.stringify(value.type)}` : "";
  throw new LudusError("tokenizer-unsupported", {
    got: `${part}${type} with ${issue.path.length > 0 ? issue.path.join(".") : "a value"} that does not fit`,
    expected: issue.message,
    hint: "Only what can be tokenized as Hugging Face's tokenizers do it is read.",
    cause: result.error,
  });
}
