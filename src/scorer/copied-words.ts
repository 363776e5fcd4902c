/** The words of a text: case and punctuation do not count. */
export function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** All rows of `length` words. */
export function rowsOf(words: readonly string[], length: number): string[] {
  return Array.from({ length: Math.max(0, words.length - length + 1) }, (_, i) => words.slice(i, i + length).join(" "));
}

/** The share of words that stand in a row of `length` that was seen. */
export function copiedShare(words: readonly string[], length: number, seen: ReadonlySet<string>): number {
  if (words.length === 0) return 0;
  const isCopied = new Uint8Array(words.length);
  for (const [i, row] of rowsOf(words, length).entries()) if (seen.has(row)) isCopied.fill(1, i, i + length);
  return isCopied.reduce((sum, copied) => sum + copied, 0) / words.length;
}
