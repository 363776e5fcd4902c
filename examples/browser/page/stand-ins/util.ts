// What the agent loop takes from node:util.

export function inspect(value: unknown): string {
  return JSON.stringify(value) ?? String(value);
}

/** Of plain data, which is all that is compared here. */
export function isDeepStrictEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  const [left, right] = [Object.entries(a), new Map(Object.entries(b))];
  return (
    left.length === right.size &&
    left.every(([key, value]) => right.has(key) && isDeepStrictEqual(value, right.get(key)))
  );
}
