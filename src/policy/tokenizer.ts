/**
 * Text to tokens and back. A tokenizer never adds a token of its own (no BOS, no EOS), and ordinary text never becomes a
 * control token: what a user, a tool or an environment wrote cannot end a turn or start another.
 *
 * Worked example, with the byte tokenizer (256 bytes, then the control tokens):
 *
 *     const tokenizer = byteTokenizer();
 *     tokenizer.encode("Hi");                                    // [72, 105]
 *     tokenizer.encode("<|im_end|>");                            // [60, 124, 105, …]: ten bytes of ordinary text
 *     tokenizer.encode("Hi<|im_end|>", { special: true });       // [72, 105, 258]: for text that a template wrote
 *     tokenizer.decode([72, 105, 258]);                          // "Hi"
 *     tokenizer.decode([72, 105, 258], { special: true });       // "Hi<|im_end|>"
 *     tokenizer.tokenBytes(258);                                 // the UTF-8 of "<|im_end|>"
 *     tokenizer.specialTokens.eos;                               // { id: 258, text: "<|im_end|>" }
 *
 * Strings that are not well-formed Unicode are encoded as if each lone surrogate were U+FFFD, as `TextEncoder` does it.
 */
export interface Tokenizer {
  /** One more than the largest token id. An engine may have more rows than this, never fewer. */
  readonly vocabularySize: number;
  /** The tokens with a role (eos, pad), where the tokenizer names them. */
  readonly specialTokens: SpecialTokens;
  /** Text and id of every token that only `special: true` makes: turn tokens, and markup such as `<tool_call>`. */
  readonly controlTokens: ReadonlyMap<string, number>;
  /** The Jinja template that came with the tokenizer. */
  readonly chatTemplate?: string;
  encode(text: string, options?: EncodeOptions): Int32Array;
  /** Ids without a token (rows of an embedding beyond the vocabulary) are skipped, not refused. */
  decode(tokens: readonly number[] | Int32Array, options?: DecodeOptions): string;
  /**
   * The bytes a token stands for, so that a stop string is found across token borders. Exact for byte-level and
   * byte-fallback tokenizers: the bytes of all tokens, joined, are the UTF-8 of the text (after the tokenizer's own
   * normalization, and with the space that SentencePiece-like tokenizers put in front). A control token's are those of
   * its text.
   */
  tokenBytes(id: number): Uint8Array;
  /** What to write into a model folder, so that `AutoTokenizer.from_pretrained` reads the same tokenizer. */
  files(): TokenizerFiles;
}

export interface EncodeOptions {
  /** Recognise control tokens in the text. False by default; true is for text that a template rendered. */
  special?: boolean;
  /** With `special`: ranges of the text, in UTF-16 units, where a control token is ordinary text all the same. */
  plain?: readonly TextRange[];
}

export interface TextRange {
  readonly start: number;
  readonly end: number;
}

export interface DecodeOptions {
  /** Write special tokens too. False by default. Markup, such as `<tool_call>`, is always written. */
  special?: boolean;
}

export type SpecialTokenRole = "bos" | "eos" | "pad" | "unk" | "sep" | "cls" | "mask";

export interface SpecialToken {
  readonly id: number;
  readonly text: string;
}

export type SpecialTokens = Readonly<Partial<Record<SpecialTokenRole, SpecialToken>>>;

/** File name to contents: `tokenizer.json`, `tokenizer_config.json`, and where there is a template `chat_template.jinja`. */
export type TokenizerFiles = Readonly<Record<string, string>>;
