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
export function splitText(text: string, pattern: RegExp, behavior: SplitBehavior, invert = false): string[] {
  const pieces = cut(text, pattern, invert);
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

function cut(text: string, pattern: RegExp, invert: boolean): Piece[] {
  const pieces: Piece[] = [];
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    if (match.index > end) pieces.push({ text: text.slice(end, match.index), isMatch: invert });
    if (match[0].length > 0) pieces.push({ text: match[0], isMatch: !invert });
    end = match.index + match[0].length;
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

/** A pattern of tokenizer.json, whose regular expressions are Oniguruma's, as a global Unicode one of JavaScript. */
export function compilePattern(pattern: Pattern): RegExp {
  if ("String" in pattern) return new RegExp(pattern.String.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "gu");
  return new huggingFaceTokenizers.SplitPreTokenizer({ pattern: { Regex: foldLikeUnicode(pattern.Regex) } }).pattern;
}

// The package folds case in (?i:…) for ASCII alone; Oniguruma also takes ſ for s and the Kelvin sign for k. Found with
// "'ſ" against the contractions of Qwen's and Llama 3's expression.
function foldLikeUnicode(regex: string): string {
  return regex.replace(/\(\?i:[^()[\]]*\)/g, (group) =>
    group.replace(/\\.|[sSkK]/g, (part) => (part.length > 1 ? part : /s/i.test(part) ? "[sſ]" : "[k\u212a]")),
  );
}
