import { bounds } from "../bounds.ts";
import { LudusError } from "../errors.ts";

/** Where a pattern matches, as starts and ends. */
export type FindMatches = (text: string) => readonly (readonly [start: number, end: number])[];

// Those of GPT-2, GPT-4 and Llama 3, Qwen 2 and 3, GPT-4o, DeepSeek 3: they look at a text in one pass, however it was written.
const letters = "[^\\r\\n\\p{L}\\p{N}]?";
const contractions = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const spaces = "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const signs = " ?[^\\s\\p{L}\\p{N}]+";
const upper = "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]";
const lower = "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]";
/** Words for merges to stay inside: letters, up to three digits or signs, each with a space before it, and white space. */
export const wordRegex = " ?\\p{L}[\\p{L}\\p{M}]*| ?\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
/** Those of Llama 3, and of Qwen 2 and 3, as their tokenizer.json has them. */
export const llama3Regex = `${contractions}|${letters}\\p{L}+|\\p{N}{1,3}|${signs}[\\r\\n]*|${spaces}`;
export const qwen2Regex = `${contractions}|${letters}\\p{L}+|\\p{N}|${signs}[\\r\\n]*|${spaces}`;

const known: ReadonlySet<string> = new Set([
  wordRegex,
  "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
  llama3Regex,
  qwen2Regex,
  `${letters}${upper}*${lower}+${contractions}?|${letters}${upper}+${lower}*${contractions}?|\\p{N}{1,3}|${signs}[\\r\\n/]*|${spaces}`,
  "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
  "\\p{N}{1,3}",
  "[一-龥぀-ゟ゠-ヿ]+",
]);
/** One set of characters, once or repeated: nothing follows that could make it go back. */
const single = /^(?:\\[dDsSwW]|\\p\{\w+\}|\[\^?[^\][\\]+\]|[\w ])(?:[+*?]|\{\d{1,4},?\d{0,4}\})?$/;

/**
 * Finds the matches of an expression that a model folder brought. One that is not known to be harmless may backtrack for longer
 * than the universe has been there: it is given a time, which only a context of its own can keep.
 */
export function guardedPattern(pattern: RegExp, source: string): FindMatches {
  if (source.length > bounds.tokenizerPatternChars) {
    throw new LudusError("tokenizer-unsupported", {
      got: `an expression of ${source.length} characters in tokenizer.json`,
      expected: `at most ${bounds.tokenizerPatternChars}`,
    });
  }
  if (known.has(source) || single.test(source)) return findMatches(pattern);
  // not imported: other parts of this folder run in browsers
  const vm = globalThis.process?.getBuiltinModule?.("node:vm");
  if (vm === undefined) return findMatches(pattern);
  const context = vm.createContext(Object.create(null));
  const script = new vm.Script(
    "Array.from(text.matchAll(pattern), (match) => [match.index, match.index + match[0].length])",
  );
  return (text) => {
    if (text === "") return [];
    Object.assign(context, { pattern, text });
    try {
      return script.runInContext(context, { timeout: bounds.tokenizerMs });
    } catch (cause) {
      throw new LudusError("tokenizer-too-slow", {
        got: `${source.slice(0, 100)} of tokenizer.json and a text of ${text.length} characters`,
        expected: `all of its matches within ${bounds.tokenizerMs} ms`,
        hint: "Is the folder from someone you trust? Such an expression can hold a program for ever.",
        cause,
      });
    }
  };
}

/** The matches of an expression that is not a stranger's. */
export function findMatches(pattern: RegExp): FindMatches {
  return (text) => Array.from(text.matchAll(pattern), (match) => [match.index, match.index + match[0].length]);
}
