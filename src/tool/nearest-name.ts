const maxLength = 64;

/** The name that a policy most likely meant, or none when all are too far from what it wrote. */
export function nearestName(said: string, names: readonly string[]): string | undefined {
  // a policy can write any length, and the table below grows with it
  if (said.length > maxLength) return undefined;
  const plain = plainName(said);
  let best: { name: string; distance: number } | undefined;
  for (const name of names) {
    const distance = editDistance(plain, plainName(name));
    if (best === undefined || distance < best.distance) best = { name, distance };
  }
  return best && best.distance <= Math.max(1, Math.floor(plain.length / 3)) && best.distance < plain.length
    ? best.name
    : undefined;
}

/** `webSearch`, `web-search` and `web_search` are one word to a model. */
const plainName = (name: string) =>
  name
    .slice(0, maxLength)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, "");

/** Levenshtein's, one row of the table at a time. */
function editDistance(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const replaced = above[column - 1] + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, above[column] + 1, current[column - 1] + 1));
    }
    above = current;
  }
  return above[b.length];
}
