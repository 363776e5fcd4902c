import type { Normalize } from "./normalize.ts";
import type { EncodeOptions, TextRange } from "./tokenizer.ts";
import type { AddedTokenConfig } from "./tokenizer-json.ts";

/** A piece of normalized text, or one added token. `isStart`: nothing of the text came before it. */
export type Section = { readonly token: number } | { readonly text: string; readonly isStart: boolean };

/**
 * Control tokens are the special ones and the ones with a sign in them, such as `<tool_call>`. Added words and runs of
 * spaces are ordinary text that happens to have a token.
 */
export function isControlToken(token: AddedTokenConfig): boolean {
  return token.special || /[\p{P}\p{S}]/u.test(token.content);
}

/** Cuts text at its added tokens: first those that look at the text as it is, then those that look at it normalized. */
export function addedTokenSplitter(
  tokens: readonly AddedTokenConfig[],
  normalize: Normalize,
): (text: string, options: EncodeOptions) => Section[] {
  const allRaw = finder(tokens.filter((token) => !token.normalized));
  const allNormalized = finder(tokens.filter((token) => token.normalized).map((token) => normalized(token, normalize)));
  const ordinary = tokens.filter((token) => !isControlToken(token));
  const ordinaryRaw = finder(ordinary.filter((token) => !token.normalized));
  const ordinaryNormalized = finder(
    ordinary.filter((token) => token.normalized).map((token) => normalized(token, normalize)),
  );

  return (text, { special = false, plain = [] }) => {
    const sections: Section[] = [];
    for (const piece of cutAt(text, special ? allRaw(text, plain) : ordinaryRaw(text, []))) {
      if (piece.token !== undefined) {
        sections.push({ token: piece.token });
        continue;
      }
      const rest = normalize(piece.text);
      const ranges = shift(plain, piece);
      // normalization that changes the text moves its positions; then no token is recognised rather than a wrong one
      const recognise = special && (ranges.length === 0 || rest === piece.text);
      const matches = recognise ? allNormalized(rest, ranges) : ordinaryNormalized(rest, []);
      for (const part of cutAt(rest, matches)) {
        if (part.token !== undefined) sections.push({ token: part.token });
        else sections.push({ text: part.text, isStart: piece.start === 0 && part.start === 0 });
      }
    }
    return sections;
  };
}

interface Match {
  start: number;
  end: number;
  id: number;
}

interface Piece {
  start: number;
  text: string;
  token?: number;
}

function normalized(token: AddedTokenConfig, normalize: Normalize): AddedTokenConfig {
  return { ...token, content: normalize(token.content) };
}

function cutAt(text: string, matches: readonly Match[]): Piece[] {
  const pieces: Piece[] = [];
  let end = 0;
  for (const match of matches) {
    if (match.start > end) pieces.push({ start: end, text: text.slice(end, match.start) });
    pieces.push({ start: match.start, text: text.slice(match.start, match.end), token: match.id });
    end = match.end;
  }
  if (end < text.length) pieces.push({ start: end, text: text.slice(end) });
  return pieces;
}

function shift(ranges: readonly TextRange[], piece: Piece): TextRange[] {
  return ranges
    .filter((range) => range.start < piece.start + piece.text.length && piece.start < range.end)
    .map((range) => ({ start: range.start - piece.start, end: range.end - piece.start }));
}

/** Finds added tokens, leftmost first and of those the longest. There may be thousands: they are looked up by first unit and length. */
function finder(tokens: readonly AddedTokenConfig[]): (text: string, plain: readonly TextRange[]) => Match[] {
  const byFirst = new Map<string, { byText: Map<string, AddedTokenConfig>; lengths: Set<number> }>();
  for (const token of [...tokens].sort((a, b) => b.content.length - a.content.length)) {
    const first = token.content[0];
    if (first === undefined) continue;
    const known = byFirst.get(first) ?? { byText: new Map(), lengths: new Set() };
    byFirst.set(first, known);
    if (!known.byText.has(token.content)) known.byText.set(token.content, token);
    known.lengths.add(token.content.length);
  }
  return (text, plain) => {
    const matches: Match[] = [];
    const longestAt = (at: number) => {
      const { byText, lengths = [] } = byFirst.get(text[at]) ?? {};
      for (const length of lengths) {
        const token = byText?.get(text.slice(at, at + length));
        if (token !== undefined && !plain.some((range) => range.start < at + length && at < range.end)) return token;
      }
      return undefined;
    };
    if (byFirst.size === 0) return matches;
    for (let at = 0; at < text.length; ) {
      const token = longestAt(at);
      if (token === undefined) {
        at++;
        continue;
      }
      const end = at + token.content.length;
      if (isWholeWord(token, text, at, end)) matches.push(widen(token, text, at, end, matches.at(-1)?.end ?? 0));
      // not from the widened end: Rust looks for tokens in white space, too, that an rstrip token has swallowed
      at = end;
    }
    return matches;
  };
}

function isWholeWord(token: AddedTokenConfig, text: string, start: number, end: number): boolean {
  const word = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]/u;
  const before = /.$/su.exec(text.slice(Math.max(0, start - 2), start))?.[0] ?? "";
  return !token.single_word || !(word.test(before) || word.test(String.fromCodePoint(text.codePointAt(end) ?? 0)));
}

// lstrip and rstrip tokens include the white space beside them
function widen(token: AddedTokenConfig, text: string, start: number, end: number, earliest: number): Match {
  const isSpace = (unit: string | undefined) => unit !== undefined && /\p{White_Space}/u.test(unit);
  let [from, to] = [start, end];
  while (token.lstrip && from > earliest && isSpace(text[from - 1])) from--;
  while (token.rstrip && isSpace(text[to])) to++;
  return { start: from, end: to, id: token.id };
}
