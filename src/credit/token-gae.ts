import { denseGae } from "./dense-gae.ts";

export interface TokenGaeInput {
  readonly rewards_T: ArrayLike<number>;
  readonly values_T: ArrayLike<number>;
  readonly mask_T: ArrayLike<number>;
  readonly gamma: number;
  readonly lambda: number;
  /** The sampled token that follows these in another row; where there is none, the rollout has ended. */
  readonly next?: { readonly value: number; readonly advantage: number };
}

/**
 * GAE over the sampled tokens: observations are skipped inside the recursion (verl's form of the advantage mask), so a
 * sampled token's successor is the next sampled token. 0 outside the mask.
 */
export function tokenGae(input: TokenGaeInput): Float32Array<ArrayBuffer> {
  const { rewards_T, values_T, mask_T, gamma, lambda, next } = input;
  const advantages_T = new Float32Array(mask_T.length);
  let nextValue = next?.value ?? 0;
  let advantage = next?.advantage ?? 0;
  for (let t = mask_T.length - 1; t >= 0; t--) {
    if (mask_T[t] === 0) continue;
    const value = values_T[t];
    advantage = rewards_T[t] + gamma * nextValue - value + gamma * lambda * advantage;
    advantages_T[t] = advantage;
    nextValue = value;
  }
  return advantages_T;
}

/** The same in Agent-R1's form: the sampled positions are taken out, GAE runs on them alone, the result is put back. */
export function compressedGae(input: Omit<TokenGaeInput, "next">): Float32Array<ArrayBuffer> {
  const { rewards_T, values_T, mask_T, gamma, lambda } = input;
  const positions: number[] = [];
  for (let t = 0; t < mask_T.length; t++) if (mask_T[t] !== 0) positions.push(t);
  const take = (array_T: ArrayLike<number>) => Float64Array.from(positions, (t) => array_T[t]);
  const compressed = denseGae({ rewards_T: take(rewards_T), values_T: take(values_T), gamma, lambda });
  const advantages_T = new Float32Array(mask_T.length);
  for (let i = 0; i < positions.length; i++) advantages_T[positions[i]] = compressed[i];
  return advantages_T;
}
