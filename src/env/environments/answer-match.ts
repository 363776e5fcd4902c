/** SQuAD's normal form: lower case, no ASCII punctuation, no articles, single spaces. */
function wordsOf(text: string): string[] {
  return text
    .toLowerCase()
    .replace(/[!-/:-@[-`{-~]/g, "")
    .split(/\s+/)
    .filter((word) => word !== "" && word !== "a" && word !== "an" && word !== "the");
}

/** Whether both say the same words in the same order. */
export function isExactMatch(said: string, gold: string): boolean {
  return wordsOf(said).join(" ") === wordsOf(gold).join(" ");
}

/** F1 over the words that both have; 0 where there are none. */
export function wordF1(said: string, gold: string): number {
  const spoken = wordsOf(said);
  const wanted = wordsOf(gold);
  const left = [...wanted];
  let shared = 0;
  for (const word of spoken) {
    const at = left.indexOf(word);
    if (at < 0) continue;
    left.splice(at, 1);
    shared++;
  }
  return shared === 0 ? 0 : (2 * shared) / (spoken.length + wanted.length);
}
