import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseOtherValue, refuseUnknownOptions } from "../known-options.ts";
import { byteCharacters, utf8 } from "./byte-level.ts";
import { type ByteLevelOptions, byteLevelFiles } from "./byte-level-files.ts";
import { controlTokens } from "./control-tokens.ts";
import { qwen2Regex, wordRegex } from "./guarded-pattern.ts";
import { tokenizerFromFiles } from "./load-tokenizer.ts";
import { mergePairs } from "./merge-pairs.ts";
import { compilePattern, splitText } from "./split-text.ts";
import type { Tokenizer } from "./tokenizer.ts";

export interface TrainBpeOptions extends ByteLevelOptions {
  /** What to learn from. The text of a control token in it is learned as ordinary text. */
  texts: Iterable<string>;
  /** All tokens together: 256 bytes, merges, control tokens. */
  vocabularySize: number;
  /**
   * What merges stay inside. `"plain"` by default: letters, up to three digits or signs, each with a space before it. `"qwen2"` is how
   * Qwen's tokenizers cut text, which llama.cpp knows: every tokenizer made with it can be exported as GGUF.
   */
  words?: "plain" | "qwen2";
}

const knownTrainBpeOptions: KnownOptions<TrainBpeOptions> = {
  markup: true,
  eos: true,
  texts: true,
  vocabularySize: true,
  special: true,
  pad: true,
  bos: true,
  chatTemplate: true,
  words: true,
};

const wordExpressions = { plain: wordRegex, qwen2: qwen2Regex } as const;

/**
 * Learns a byte-level BPE tokenizer from text: ids 0 to 255 are the bytes, then come the merges, most frequent first, then
 * the control tokens. The same texts give the same tokenizer. Where the texts hold too little that repeats, the vocabulary
 * stays smaller than asked; read `vocabularySize`.
 */
export function trainBpe(options: TrainBpeOptions): Tokenizer {
  refuseUnknownOptions("trainBpe", options, knownTrainBpeOptions);
  const smallest = 256 + controlTokens(256, options).length;
  if (!Number.isInteger(options.vocabularySize) || options.vocabularySize < smallest) {
    throw new LudusError("vocabulary-too-small", {
      got: `vocabularySize ${options.vocabularySize}`,
      expected: `an integer of at least ${smallest}: 256 bytes and the control tokens`,
    });
  }
  const { words: kind = "plain" } = options;
  refuseOtherValue("trainBpe: words", kind, Object.keys(wordExpressions));
  const splitRegex = wordExpressions[kind];
  const counts = countWords(options.texts, splitRegex);
  const words = [...counts.keys()].map((word) => [...utf8(word)]);
  const { tokens, merges } = mergePairs(words, [...counts.values()], {
    alphabet: byteCharacters,
    vocabularySize: options.vocabularySize - (smallest - 256),
  });
  const vocab = Object.fromEntries(tokens.map((token, id) => [token, id]));
  const added = controlTokens(tokens.length, options);
  return tokenizerFromFiles(byteLevelFiles({ vocab, merges, splitRegex }, added, options));
}

function countWords(texts: Iterable<string>, splitRegex: string): Map<string, number> {
  const pattern = compilePattern({ Regex: splitRegex });
  const counts = new Map<string, number>();
  for (const text of texts) {
    for (const word of splitText(text.toWellFormed(), pattern, "Isolated"))
      counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return counts;
}
