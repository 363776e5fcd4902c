import { toByteCharacters } from "./byte-level.ts";
import { findMatches } from "./guarded-pattern.ts";
import { checkGrowth } from "./normalize.ts";
import { compilePattern, splitText } from "./split-text.ts";
import type { PreTokenizerStep } from "./tokenizer-json.ts";

/** Cuts normalized text into words, which the model then turns into tokens one by one. */
export type PreTokenize = (text: string, isStart: boolean) => string[];

// Of the package's own pre-tokenizers several differ from the Rust ones (policy/README.md); here all of them are written as
// the Rust ones are: a pattern and what to do with its matches.
const whitespace = findMatches(/\p{White_Space}/gu);
const punctuation = findMatches(/[\p{P}!-/:-@[-`{-~]/gu);
const numbers = findMatches(/\p{N}/gu);
// \w+|[^\w\s]+ as Rust's own expressions have it, not Oniguruma's: joiners are word characters, superscripts are not
const wordPattern = findMatches(
  /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]+|[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}\p{White_Space}]+/gu,
);
const gpt2Pattern = compilePattern({
  Regex: "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
});

/** The pre-tokenizer of a tokenizer.json as a function. */
export function preTokenizer(steps: readonly PreTokenizerStep[]): PreTokenize {
  const functions = steps.map(preTokenizerStep);
  return (text, isStart) =>
    functions.reduce<string[]>(
      (words, step) =>
        words.flatMap((word, index) => {
          const parts = step(word, isStart && index === 0);
          for (const part of parts) checkGrowth(part, text);
          return parts;
        }),
      text === "" ? [] : [text],
    );
}

function preTokenizerStep(step: PreTokenizerStep): PreTokenize {
  switch (step.type) {
    case "Split": {
      const pattern = compilePattern(step.pattern);
      return (text) => splitText(text, pattern, step.behavior, step.invert);
    }
    case "ByteLevel":
      return byteLevel(step);
    case "Metaspace":
      return metaspace(step);
    case "Whitespace":
      return (text) => splitText(text, wordPattern, "Removed", true);
    case "WhitespaceSplit":
      return (text) => splitText(text, whitespace, "Removed");
    case "BertPreTokenizer":
      return (text) =>
        splitText(text, whitespace, "Removed").flatMap((word) => splitText(word, punctuation, "Isolated"));
    case "Punctuation":
      return (text) => splitText(text, punctuation, step.behavior);
    case "Digits":
      return (text) => splitText(text, numbers, step.individual_digits ? "Isolated" : "Contiguous");
    case "CharDelimiterSplit": {
      const pattern = compilePattern({ String: step.delimiter });
      return (text) => splitText(text, pattern, "Removed");
    }
    case "FixedLength": {
      const pattern = findMatches(new RegExp(`[^]{1,${step.length}}`, "gu"));
      return (text) => splitText(text, pattern, "Isolated");
    }
    default:
      return step satisfies never;
  }
}

function byteLevel(step: Extract<PreTokenizerStep, { type: "ByteLevel" }>): PreTokenize {
  return (text) => {
    const prefixed = step.add_prefix_space && !text.startsWith(" ") ? ` ${text}` : text;
    const words = step.use_regex ? splitText(prefixed, gpt2Pattern, "Isolated") : [prefixed];
    return words.map(toByteCharacters);
  };
}

function metaspace(step: Extract<PreTokenizerStep, { type: "Metaspace" }>): PreTokenize {
  const { replacement } = step;
  // add_prefix_space is what files from before tokenizers 0.15 say instead
  const scheme = step.prepend_scheme ?? (step.add_prefix_space === false ? "never" : "always");
  const pattern = compilePattern({ String: replacement });
  return (text, isStart) => {
    let spaced = text.replaceAll(" ", replacement);
    const wanted = scheme === "always" || (scheme === "first" && isStart);
    if (wanted && !spaced.startsWith(replacement)) spaced = replacement + spaced;
    return step.split ? splitText(spaced, pattern, "MergedWithNext") : [spaced];
  };
}
