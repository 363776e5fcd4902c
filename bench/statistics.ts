/** The value below which a share of the numbers lies, between two of them where it must. */
export function quantile(numbers: readonly number[], share: number): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  const at = (sorted.length - 1) * share;
  const low = sorted[Math.floor(at)];
  return low + (sorted[Math.ceil(at)] - low) * (at - Math.floor(at));
}

export function median(numbers: readonly number[]): number {
  return quantile(numbers, 0.5);
}

/** How far apart the middle half of the numbers lies, as a share of the median. */
export function spread(numbers: readonly number[]): number {
  return (quantile(numbers, 0.75) - quantile(numbers, 0.25)) / median(numbers);
}
