const punctuation = /[!"#$%&'()*+,\-./:;<=>?@[\\\]^_`{|}~]/g;

/** GAIA's scorer (Mialon et al., arXiv 2311.12983): numbers as numbers, lists part by part, texts without spaces, case and punctuation. */
export function gaiaEqual(said: string, gold: string): boolean {
  if (isNumber(gold)) return gaiaNumber(said) === Number(gold);
  if (!/[,;]/.test(gold)) return plain(said, true) === plain(gold, true);
  const [golds, parts] = [gold.split(/[,;]/), said.split(/[,;]/)];
  if (golds.length !== parts.length) return false;
  return golds.every((one, index) => {
    // punctuation counts in the parts of a list
    return isNumber(one) ? gaiaNumber(parts[index]) === Number(one) : plain(parts[index], false) === plain(one, false);
  });
}

/** What Python's `float` reads, hexadecimal left out. */
function isNumber(text: string): boolean {
  return /^\s*[+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*$/.test(text);
}

function gaiaNumber(text: string): number {
  const bare = text.replace(/[$%,]/g, "");
  return isNumber(bare) ? Number(bare) : Number.POSITIVE_INFINITY;
}

function plain(text: string, isBare: boolean): string {
  const dense = text.replace(/\s/g, "").toLowerCase();
  return isBare ? dense.replace(punctuation, "") : dense;
}
