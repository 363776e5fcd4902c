import { turnTextRanges, turnTokens } from "./guarded-chat.ts";
import type { TextRange, Tokenizer } from "./tokenizer.ts";

/** Text and tokens in the middle of a conversation, where SentencePiece-like tokenizers put no space in front. */
export interface OwnWords {
  /** What a policy would have sampled: markup such as `<tool_call>` is one token, turn tokens are ordinary text. */
  encode(text: string): Int32Array;
  /** Text that a template rendered, from the middle of it. */
  encodeRendered(text: string, plain: readonly TextRange[]): Int32Array;
  /** Without turn tokens. */
  decode(tokens: Int32Array): string;
}

export function ownWords(tokenizer: Tokenizer): OwnWords {
  const anchor = anchorOf(tokenizer);
  const turnIds = turnTokens(tokenizer);
  function encodeRendered(text: string, plain: readonly TextRange[]): Int32Array {
    if (anchor === undefined) return tokenizer.encode(text, { special: true, plain });
    const shift = anchor.text.length;
    const moved = plain.map(({ start, end }) => ({ start: start + shift, end: end + shift }));
    return tokenizer.encode(anchor.text + text, { special: true, plain: moved }).subarray(1);
  }
  return {
    encodeRendered,
    encode: (text) => encodeRendered(text, turnTextRanges(tokenizer, text)),
    decode(tokens) {
      const words = withoutTurnTokens(tokens, turnIds);
      if (anchor === undefined) return tokenizer.decode(words);
      return tokenizer.decode([anchor.id, ...words], { special: true }).slice(anchor.text.length);
    },
  };
}

function withoutTurnTokens(tokens: Int32Array, turnIds: ReadonlySet<number>): Int32Array {
  const isTurnToken = (id: number) => turnIds.has(id);
  // a turn has one, at its end
  const words = tokens.length > 0 && isTurnToken(tokens[tokens.length - 1]) ? tokens.subarray(0, -1) : tokens;
  return words.some(isTurnToken) ? words.filter((id) => !isTurnToken(id)) : words;
}

/** A control token to put in front: one without lstrip or rstrip. */
function anchorOf(tokenizer: Tokenizer): { text: string; id: number } | undefined {
  for (const [text, id] of tokenizer.controlTokens) {
    const probe = `${text} ${text}`;
    const tokens = tokenizer.encode(probe, { special: true });
    if (tokens[0] === id && tokenizer.decode(tokens, { special: true }) === probe) return { text, id };
  }
  return undefined;
}
