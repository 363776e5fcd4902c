export interface Bm25Options {
  /** Term frequency saturation. */
  k1: number;
  /** Document length normalization: 0 none, 1 full. */
  b: number;
}

/** Lucene's. */
const defaults: Bm25Options = { k1: 1.2, b: 0.75 };

export interface Hit {
  /** Of the document. */
  readonly index: number;
  readonly score: number;
}

interface Posting {
  readonly index: number;
  readonly count: number;
}

/**
 * Okapi BM25 with the inverse document frequency `ln(1 + (N - n + 0.5) / (n + 0.5))`, which is never negative. Best first,
 * ties by index. Documents that share no word with the query are left out.
 *
 *     bm25(["red tea", "green tea", "milk"])("green tea", 2);       // documents 1 and 0
 */
export function bm25(documents: readonly string[], options: Partial<Bm25Options> = {}) {
  const { k1, b } = { ...defaults, ...options };
  const lengths = documents.map((document) => wordsOf(document).length);
  const meanLength = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, documents.length);
  const norms = lengths.map((length) => k1 * (1 - b + (b * length) / meanLength));
  const postings = postingsOf(documents);
  /** Of every document, 0 between two searches. */
  const scores = new Float64Array(documents.length);

  return function find(query: string, most: number): Hit[] {
    const touched: number[] = [];
    for (const word of new Set(wordsOf(query))) {
      const found = postings.get(word) ?? [];
      const rarity = Math.log(1 + (documents.length - found.length + 0.5) / (found.length + 0.5));
      for (const { index, count } of found) {
        if (scores[index] === 0) touched.push(index);
        scores[index] += (rarity * count * (k1 + 1)) / (count + norms[index]);
      }
    }
    const hits = touched.map((index) => ({ index, score: scores[index] }));
    for (const index of touched) scores[index] = 0;
    return best(hits, most);
  };
}

const better = (a: Hit, c: Hit): number => c.score - a.score || a.index - c.index;

/** The one that is mostly asked for is found without sorting all. */
function best(hits: Hit[], most: number): Hit[] {
  if (most !== 1 || hits.length === 0) return hits.sort(better).slice(0, most);
  return [hits.reduce((first, hit) => (better(hit, first) < 0 ? hit : first))];
}

function postingsOf(documents: readonly string[]): Map<string, Posting[]> {
  const postings = new Map<string, Posting[]>();
  for (const [index, document] of documents.entries()) {
    const counts = new Map<string, number>();
    for (const word of wordsOf(document)) counts.set(word, (counts.get(word) ?? 0) + 1);
    for (const [word, count] of counts) {
      const list = postings.get(word);
      if (list === undefined) postings.set(word, [{ index, count }]);
      else list.push({ index, count });
    }
  }
  return postings;
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}
