export interface DenseGaeInput {
  readonly rewards_T: ArrayLike<number>;
  readonly values_T: ArrayLike<number>;
  readonly gamma: number;
  readonly lambda: number;
}

/**
 * GAE over numbers that all count: `d = r_t + gamma * V_(t+1) - V_t`, `A_t = d + gamma * lambda * A_(t+1)`. What follows the
 * last is worth 0.
 */
export function denseGae({ rewards_T, values_T, gamma, lambda }: DenseGaeInput): Float64Array<ArrayBuffer> {
  const advantages_T = new Float64Array(rewards_T.length);
  let nextValue = 0;
  let advantage = 0;
  for (let t = rewards_T.length - 1; t >= 0; t--) {
    const value = values_T[t];
    advantage = rewards_T[t] + gamma * nextValue - value + gamma * lambda * advantage;
    advantages_T[t] = advantage;
    nextValue = value;
  }
  return advantages_T;
}
