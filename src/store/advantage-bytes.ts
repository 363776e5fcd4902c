import { sum } from "../statistics.ts";
// T tokens, S sampled ones.

/** Those of sampled tokens; one number where all are the same, as in schemes that credit whole episodes. */
export function encodeAdvantages(mask_T: Uint8Array, advantages_T: Float32Array): Uint8Array {
  const advantages_S = advantages_T.filter((_, t) => mask_T[t] === 1);
  const isFlat = advantages_S.every((advantage) => Object.is(advantage, advantages_S[0]));
  const written = isFlat ? advantages_S.subarray(0, 1) : advantages_S;
  const view = new DataView(new ArrayBuffer(4 * written.length));
  for (const [s, advantage] of written.entries()) view.setFloat32(4 * s, advantage, true);
  return new Uint8Array(view.buffer);
}

export function decodeAdvantages(mask_T: Uint8Array, bytes: Uint8Array): Float32Array {
  const S = sum(mask_T);
  const count = bytes.length / 4;
  if (count !== S && !(count === 1 && S > 1)) throw new TypeError(`${bytes.length} bytes for ${S} tokens`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const advantages_T = new Float32Array(mask_T.length);
  let s = 0;
  for (let t = 0; t < mask_T.length; t++) {
    if (mask_T[t] === 1) advantages_T[t] = view.getFloat32(count === 1 ? 0 : 4 * s++, true);
  }
  return advantages_T;
}
