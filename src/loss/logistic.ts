/** 1/(1 + e^-x). */
export function sigmoid(x: number): number {
  // e to a positive power could overflow
  return x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x));
}

/** log(1 + e^x) = -log sigmoid(-x). */
export function softplus(x: number): number {
  return Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
}
