/** One after the other. Not by spreading: a long observation would overflow the stack. */
export function joinTokens(...parts: readonly Int32Array[]): Int32Array {
  let length = 0;
  for (const part of parts) length += part.length;
  const whole = new Int32Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
