const token = /'(?:s|m|d|ll|re|ve)\b|n't\b|[\p{L}\p{N}_]+(?:(?:[-./&]|(?<=\d)[,:](?=\d))[\p{L}\p{N}_]+)*|\S/giu;

/**
 * Words and signs, near to NLTK's `word_tokenize`, which WebArena uses: `1,000`, `12:30`, `3.5` and `well-known` stay whole,
 * other signs stand alone, `it's` is two. Not NLTK's own rules: it also parts `cannot` and quotation marks.
 */
export function wordTokens(text: string): string[] {
  return text.replace(/n't\b/gi, " n't").match(token) ?? [];
}
