/** A stream of random numbers. Everything random takes one, so that every run can be repeated. */
export interface Rng {
  /** Uniform in [0, 1). */
  next(): number;
  /** Standard normal. */
  normal(): number;
  /** A whole number in 0..below-1. */
  integer(below: number): number;
}

/** Mixes 32-bit words into one; the constants are those of MurmurHash3's finalizer. */
function mix(a: number, b: number): number {
  let h = Math.imul(a ^ Math.imul(b + 0x9e3779b9, 0x85ebca6b), 0xc2b2ae35) ^ b;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** A uniform number in [0, 1) that depends on seed and index alone: draws need no order, so batching cannot change them. */
export function uniformAt(seed: number, index: number): number {
  const low = mix(seed | 0, index | 0);
  const high = mix(low ^ Math.floor(seed / 2 ** 32), Math.floor(index / 2 ** 32) ^ 0x51ed270b);
  return (high * 2 ** 21 + (mix(high, low) >>> 11)) / 2 ** 53;
}

export function createRng(seed: number): Rng {
  let index = 0;
  const next = () => uniformAt(seed, index++);
  return {
    next,
    // Box and Muller; 1 - u keeps the logarithm finite
    normal: () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next()),
    integer: (below) => Math.floor(next() * below),
  };
}
