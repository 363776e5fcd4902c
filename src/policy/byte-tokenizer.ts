import { refuseUnknownOptions } from "../known-options.ts";
import { addedTokenSplitter } from "./added-tokens.ts";
import { byteCharacters, utf8 } from "./byte-level.ts";
import { type ByteLevelOptions, byteLevelFiles, knownByteLevelOptions } from "./byte-level-files.ts";
import { controlTokens } from "./control-tokens.ts";
import { tokenizerFromFiles } from "./load-tokenizer.ts";
import type { Tokenizer } from "./tokenizer.ts";

/**
 * One token for every byte, whose id is the byte, and then the control tokens. Nothing to train and nothing it cannot write:
 * for tiny models, whose vocabulary would otherwise be most of their weights.
 */
export function byteTokenizer(options: ByteLevelOptions = {}): Tokenizer {
  refuseUnknownOptions("byteTokenizer", options, knownByteLevelOptions);
  const vocab = Object.fromEntries(byteCharacters.map((character, byte) => [character, byte]));
  const added = controlTokens(256, options);
  const split = addedTokenSplitter(added, (text) => text);
  return {
    ...tokenizerFromFiles(byteLevelFiles({ vocab, merges: [] }, added, options)),
    // the same tokens as from the files, without a BPE model on the way
    encode(text, encodeOptions = {}) {
      if (encodeOptions.special !== true) return new Int32Array(utf8(text));
      const sections = split(text.toWellFormed(), encodeOptions);
      return Int32Array.from(
        sections.flatMap((section) => ("token" in section ? section.token : [...utf8(section.text)])),
      );
    },
  };
}
