/** The reward less `weight` for every step (or token) over the target. */
export function linearLengthPenalty(
  reward: number,
  length: number,
  options: { target: number; weight: number },
): number {
  return reward - options.weight * Math.max(0, length - options.target);
}

/**
 * The reward times σ(−(length − target) / temperature): half of it at the target, none far beyond. Only for rewards that are
 * not negative, as a long failure would lose less than a short one.
 */
export function sigmoidLengthPenalty(
  reward: number,
  length: number,
  options: { target: number; temperature: number },
): number {
  return reward / (1 + Math.exp((length - options.target) / options.temperature));
}

export interface SoftOverlongOptions {
  /** The longest response that may be generated. */
  maxLength: number;
  /** The last part of it, over which the penalty grows. */
  cacheLength: number;
  /** Penalty at `maxLength`. */
  factor: number;
  /** Whether the penalty is constant beyond `maxLength` (the paper) or keeps growing (verl, where no response is longer). */
  floor: boolean;
}

const defaults: SoftOverlongOptions = { maxLength: 20480, cacheLength: 4096, factor: 1, floor: true };

/** DAPO's soft overlong punishment (arXiv 2503.14476), to be added to the reward: 0, then a straight line down to −1. */
export function softOverlongPenalty(length: number, options: Partial<SoftOverlongOptions> = {}): number {
  const { maxLength, cacheLength, factor, floor } = { ...defaults, ...options };
  const excess = length - (maxLength - cacheLength);
  if (excess <= 0) return 0;
  const share = excess / cacheLength;
  return -factor * (floor ? Math.min(share, 1) : share);
}
