import { errorText, LudusError } from "../errors.ts";
import { type FindMatches, findMatches, guardedPattern } from "./guarded-pattern.ts";
import { huggingFaceTokenizers } from "./huggingface.ts";
import type { Pattern, SplitBehavior } from "./tokenizer-json.ts";

interface Piece {
  text: string;
  isMatch: boolean;
}

/**
 * Cuts text at every match of a pattern. "a1b" at digits: Isolated gives a, 1, b; Removed a, b; MergedWithPrevious a1, b;
 * MergedWithNext a, 1b; Contiguous is Isolated with neighbouring matches as one piece.
 */
export function splitText(text: string, find: FindMatches, behavior: SplitBehavior, invert = false): string[] {
  const pieces = cut(text, find, invert);
  switch (behavior) {
    case "Isolated":
      return pieces.map((piece) => piece.text);
    case "Removed":
      return pieces.filter((piece) => !piece.isMatch).map((piece) => piece.text);
    case "Contiguous":
      return join(pieces, (previous, piece) => previous.isMatch === piece.isMatch);
    case "MergedWithPrevious":
      return join(pieces, (previous, piece) => piece.isMatch && !previous.isMatch);
    case "MergedWithNext":
      return join(pieces, (previous, piece) => previous.isMatch && !piece.isMatch);
    default:
      return behavior satisfies never;
  }
}

function cut(text: string, find: FindMatches, invert: boolean): Piece[] {
  const pieces: Piece[] = [];
  let end = 0;
  for (const [from, to] of find(text)) {
    if (from > end) pieces.push({ text: text.slice(end, from), isMatch: invert });
    if (to > from) pieces.push({ text: text.slice(from, to), isMatch: !invert });
    end = to;
  }
  if (end < text.length) pieces.push({ text: text.slice(end), isMatch: invert });
  return pieces;
}

function join(pieces: readonly Piece[], belongs: (previous: Piece, piece: Piece) => boolean): string[] {
  const joined: string[] = [];
  pieces.forEach((piece, index) => {
    if (index > 0 && belongs(pieces[index - 1], piece)) joined[joined.length - 1] += piece.text;
    else joined.push(piece.text);
  });
  return joined;
}

/** The text with every match replaced. */
export function replaceMatches(text: string, find: FindMatches, content: string): string {
  let [replaced, end] = ["", 0];
  for (const [from, to] of find(text)) {
    replaced += text.slice(end, from) + content;
    end = to;
  }
  return replaced + text.slice(end);
}

/** A pattern of tokenizer.json, whose regular expressions are Oniguruma's, as a global Unicode one of JavaScript. */
export function compilePattern(pattern: Pattern): FindMatches {
  if ("String" in pattern) {
    return findMatches(new RegExp(pattern.String.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "gu"));
  }
  return guardedPattern(compiled(pattern.Regex), pattern.Regex);
}

function compiled(source: string): RegExp {
  try {
    return new huggingFaceTokenizers.SplitPreTokenizer({ pattern: { Regex: foldLikeUnicode(source) } }).pattern;
  } catch (cause) {
    throw new LudusError("tokenizer-unsupported", {
      got: `the expression ${JSON.stringify(source.slice(0, 100))} in tokenizer.json: ${errorText(cause)}`,
      expected: "one that JavaScript understands too",
      cause,
    });
  }
}

// The package folds case in (?i:…) for ASCII alone; Oniguruma also takes ſ for s and the Kelvin sign for k. Found with
// "'ſ" against the contractions of Qwen's and Llama 3's expression.
function foldLikeUnicode(regex: string): string {
  return regex.replace(/\(\?i:[^()[\]]*\)/g, (group) =>
    group.replace(/\\.|[sSkK]/g, (part) => (part.length > 1 ? part : /s/i.test(part) ? "[sſ]" : "[k\u212a]")),
  );
}
