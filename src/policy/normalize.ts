import { bounds } from "../bounds.ts";
import { LudusError } from "../errors.ts";
import { toByteCharacters } from "./byte-level.ts";
import { huggingFaceTokenizers } from "./huggingface.ts";
import { compilePattern, replaceMatches } from "./split-text.ts";
import type { NormalizerStep } from "./tokenizer-json.ts";

export type Normalize = (text: string) => string;

/** The normalizer of a tokenizer.json as a function; the identity where there is none. */
export function normalizer(steps: readonly NormalizerStep[]): Normalize {
  const functions = steps.map(normalizerStep);
  return (text) =>
    functions.reduce((normalized, step) => (normalized === "" ? "" : checkGrowth(step(normalized), text)), text);
}

/** Every step may make a text longer, and many steps much longer. */
export function checkGrowth<Text extends { readonly length: number }>(grown: Text, text: Text): Text {
  if (grown.length <= text.length * bounds.tokenizerGrowth + 1_000) return grown;
  throw new LudusError("tokenizer-unsupported", {
    got: `steps of tokenizer.json that make ${grown.length} characters of ${text.length}`,
    expected: `at most ${bounds.tokenizerGrowth} times as many`,
  });
}

function normalizerStep(step: NormalizerStep): Normalize {
  switch (step.type) {
    case "NFC":
    case "NFD":
    case "NFKC":
    case "NFKD":
      return (text) => text.normalize(step.type);
    case "Lowercase":
      return lowercase;
    case "StripAccents":
      return (text) => text.replace(/\p{M}/gu, "");
    case "ByteLevel":
      return toByteCharacters;
    case "Strip":
      return strip(step);
    case "Replace": {
      const pattern = compilePattern(step.pattern);
      return (text) => replaceMatches(text, pattern, step.content);
    }
    case "Prepend":
      return (text) => step.prepend + text;
    case "BertNormalizer":
      return bert(step);
    case "Precompiled":
      return new huggingFaceTokenizers.PrecompiledNormalizer(step);
    default:
      return step satisfies never;
  }
}

// letter by letter: of a whole word JavaScript makes a final ς, Rust does not
function lowercase(text: string): string {
  return Array.from(text, (character) => character.toLowerCase()).join("");
}

function bert(step: Extract<NormalizerStep, { type: "BertNormalizer" }>): Normalize {
  const ideograph =
    /[\u4e00-\u9fff\u3400-\u4dbf\u{20000}-\u{2a6df}\u{2a700}-\u{2b81f}\u{2b920}-\u{2ceaf}\uf900-\ufaff\u{2f800}-\u{2fa1f}]/gu;
  return (text) => {
    let normalized = text;
    if (step.clean_text)
      normalized = normalized
        .replace(/(?![\t\n\r])[\p{Cc}\p{Cf}\p{Co}\ufffd\0]/gu, "")
        .replace(/\p{White_Space}/gu, " ");
    if (step.handle_chinese_chars) normalized = normalized.replace(ideograph, " $& ");
    if (step.strip_accents ?? step.lowercase) normalized = normalized.normalize("NFD").replace(/\p{Mn}/gu, "");
    return step.lowercase ? lowercase(normalized) : normalized;
  };
}

function strip(step: Extract<NormalizerStep, { type: "Strip" }>): Normalize {
  // not trim(): that also takes U+FEFF, which is no white space to Rust, and leaves U+0085, which is
  return (text) => {
    const left = step.strip_left ? text.replace(/^\p{White_Space}+/u, "") : text;
    return step.strip_right ? left.replace(/\p{White_Space}+$/u, "") : left;
  };
}
