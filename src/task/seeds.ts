import { uniformAt } from "../random.ts";

/** A 32-bit seed, hashed from a seed, a name and a number. */
export function seedOf(seed: number, name: string, index: number): number {
  return Math.floor(uniformAt(hashText(`${seed} ${name}`), index) * 2 ** 32);
}

/** FNV-1a, 32 bits, then mixed: texts that differ in their last letter alone must differ in the high bits too. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return Math.floor(uniformAt(hash, 0) * 2 ** 32);
}
