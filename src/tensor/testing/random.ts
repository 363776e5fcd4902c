/** Chance for tests, the same on every run; `tensor/` is sealed and has its own. */
export interface Random {
  /** Uniform in [low, high). */
  uniform(low: number, high: number): number;
  normal(): number;
  /** A whole number from `low` to `high`, both included. */
  integer(low: number, high: number): number;
}

/** Marsaglia's xorshift on 32 bits. */
export function createRandom(seed: number): Random {
  let state = Math.imul(seed + 1, 0x9e3779b9) | 1;
  const next = () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
  for (let i = 0; i < 8; i++) next();
  const uniform = (low: number, high: number) => low + (high - low) * next();
  return {
    uniform,
    normal: () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next()),
    integer: (low, high) => Math.floor(uniform(low, high + 1)),
  };
}
