import type { AddedTokenConfig } from "../../../policy/tokenizer-json.ts";
import { refusedTokenizer } from "./refused-tokenizer.ts";

export type Merge = readonly [string, string];

/** How llama.cpp is to cut text. */
export interface Words {
  /** The name of one of its ways. */
  readonly pre: string;
  /** Tokens that it has to find in a text before: written as "user defined", as which it looks for the longest first. */
  readonly numbers: ReadonlySet<string>;
}

const asciiWord = /^(?:Ġ?[A-Za-z]+|[0-9]+|Ġ?[!-/:-@[-`{-~]+)$/;
const spacedNumber = /^Ġ[0-9]+$/;

/**
 * Words as `trainBpe` cuts them (`wordRegex`) are none that llama.cpp knows. Those of DeepSeek V3 differ only in where they cut between
 * characters of different kinds, before numbers, in white space and beside letters beyond ASCII. So where no merge joins such, the
 * tokens of every text are the same.
 *
 * A space and a number may be joined nevertheless. They always begin a word, so merging ends with the longest token of both, provided that
 * digits are merged with nothing else: which three of a longer number belong together depends on the space, and that it does not see.
 */
export function ownWords(merges: readonly Merge[], addedTokens: readonly AddedTokenConfig[]): Words {
  const tokens = merges.map(([left, right]) => `${left}${right}`);
  const numbers = new Set(tokens.filter((token) => spacedNumber.test(token)));
  const other = tokens.find((token) => !numbers.has(token) && !asciiWord.test(token));
  if (other !== undefined) throw refusedWords(`the token ${shown(other)}`);
  if (numbers.size > 0) {
    const [spaced] = numbers;
    const digits = tokens.find((token) => /^[0-9]+$/.test(token));
    if (digits !== undefined) throw refusedWords(`the tokens ${shown(spaced)} and ${shown(digits)}`);
    const beside = addedTokens.find(({ content }) => /^[0-9]| $/.test(content));
    if (beside !== undefined)
      throw refusedWords(`the token ${shown(spaced)} and the added token ${shown(beside.content)}`);
  }
  return { pre: "deepseek-v3", numbers };
}

function shown(token: string): string {
  return JSON.stringify(token);
}

function refusedWords(got: string) {
  return refusedTokenizer(
    `${got} (Ġ is a space, Ċ a new line) of a tokenizer that trainBpe made`,
    'merges within ASCII words or signs, and within numbers or of a space and a number: llama.cpp has no way to cut text as words: "plain" does',
    'Train with fromScratch({ words: "qwen2" }), or trainBpe({ words: "qwen2" }): every tokenizer of it can be exported. Or export as huggingface or onnx.',
  );
}
