/** `G_k = r_k + gamma * G_(k+1)`; nothing follows the last. */
export function returnsToGo(rewards_K: ArrayLike<number>, gamma: number): Float64Array<ArrayBuffer> {
  const returns_K = new Float64Array(rewards_K.length);
  let following = 0;
  for (let k = rewards_K.length - 1; k >= 0; k--) {
    following = rewards_K[k] + gamma * following;
    returns_K[k] = following;
  }
  return returns_K;
}
