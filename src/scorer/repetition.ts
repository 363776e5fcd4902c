/**
 * For each text the share of the texts that are like it, itself included: R-Zero's repetition penalty. Texts are like each other that are in one cluster
 * by average linkage of 1 - BLEU, joined as long as the distance is below 0.5. Every cluster of one has 1 / n.
 */
export function repetitionShares(
  texts: readonly string[],
  split: (text: string) => readonly string[] = words,
): number[] {
  const tokens = texts.map((text) => split(text).slice(0, longest));
  const distances = tokens.map((a) => tokens.map((b) => 1 - sentenceBleu(a, b)));
  const apart = (i: number, j: number) => (distances[i][j] + distances[j][i]) / 2;
  let clusters = texts.map((_, i) => [i]);
  for (;;) {
    const nearest = nearestPair(clusters, apart);
    if (nearest === undefined || nearest.distance >= threshold) break;
    const { a, b } = nearest;
    clusters = [...clusters.filter((_, c) => c !== a && c !== b), [...clusters[a], ...clusters[b]]];
  }
  const shares = new Array<number>(texts.length);
  for (const cluster of clusters) for (const i of cluster) shares[i] = cluster.length / texts.length;
  return shares;
}

const threshold = 0.5;
/** Tokens of a text that are looked at: what a policy writes has no bound of its own. */
const longest = 512;
const words = (text: string) => text.split(/\s+/).filter((word) => word !== "");

function nearestPair(clusters: readonly (readonly number[])[], apart: (i: number, j: number) => number) {
  let nearest: { a: number; b: number; distance: number } | undefined;
  for (let a = 0; a < clusters.length; a++) {
    for (let b = a + 1; b < clusters.length; b++) {
      const pairs = clusters[a].flatMap((i) => clusters[b].map((j) => apart(i, j)));
      const distance = pairs.reduce((sum, each) => sum + each, 0) / pairs.length;
      if (nearest === undefined || distance < nearest.distance) nearest = { a, b, distance };
    }
  }
  return nearest;
}

/** BLEU of up to four tokens in a row, with 0.1 in place of no match (the first smoothing of Chen and Cherry), as NLTK computes it. */
export function sentenceBleu(reference: readonly string[], said: readonly string[]): number {
  if (said.length === 0) return 0;
  let logs = 0;
  for (let n = 1; n <= 4; n++) {
    const [own, known] = [countRuns(said, n), countRuns(reference, n)];
    let matches = 0;
    for (const [run, count] of own) matches += Math.min(count, known.get(run) ?? 0);
    if (n === 1 && matches === 0) return 0;
    const total = Math.max(1, said.length - n + 1);
    logs += Math.log((matches === 0 ? 0.1 : matches) / total) / 4;
  }
  const brevity = said.length >= reference.length ? 1 : Math.exp(1 - reference.length / said.length);
  return brevity * Math.exp(logs);
}

function countRuns(tokens: readonly string[], n: number): Map<string, number> {
  const counts = new Map<string, number>();
  for (let i = 0; i + n <= tokens.length; i++) {
    const run = JSON.stringify(tokens.slice(i, i + n));
    counts.set(run, (counts.get(run) ?? 0) + 1);
  }
  return counts;
}
