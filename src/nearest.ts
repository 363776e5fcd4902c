// A policy can write names of any length, and the table of distances grows with it.
const maxLength = 64;

/**
 * The known word that a mistyped one most likely meant, or none when all are too far from it. Only letters and digits count:
 * `webSearch`, `web-search` and `web_search` are one word to a model.
 */
export function nearest(word: string, known: readonly string[]): string | undefined {
  if (word.length > maxLength) return undefined;
  const plain = plainWord(word);
  let best: { candidate: string; distance: number } | undefined;
  for (const candidate of known) {
    const distance = editDistance(plain, plainWord(candidate));
    if (best === undefined || distance < best.distance) best = { candidate, distance };
  }
  // a third of the letters, and at least one: "trian" means "train", "x" means nothing
  return best && best.distance <= Math.max(1, Math.ceil(plain.length / 3)) && best.distance < plain.length
    ? best.candidate
    : undefined;
}

function plainWord(word: string): string {
  return word
    .slice(0, maxLength)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, "");
}

/** Levenshtein distance, one row of the table at a time. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = previous[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min(replaced, previous[j] + 1, current[j - 1] + 1));
    }
    previous = current;
  }
  return previous[b.length];
}
