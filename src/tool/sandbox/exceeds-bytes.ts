/**
 * Whether a value would take more than `bytes` once serialized. Asked before serializing, because a million references to
 * one long string are a small heap and an endless message.
 */
export function exceedsBytes(value: unknown, bytes: number): boolean {
  const seen = new Set<object>();
  const open: unknown[] = [value];
  let total = 0;
  while (open.length > 0 && total <= bytes) {
    const next = open.pop();
    if (typeof next === "string") total += next.length;
    else total += 1;
    if (typeof next !== "object" || next === null || seen.has(next)) continue;
    seen.add(next);
    total += ownBytes(next);
    // more parts than bytes are too many, and need not be listed
    if (total <= bytes) for (const part of partsOf(next)) if (open.push(part) > bytes) return true;
  }
  return total > bytes;
}

function ownBytes(value: object): number {
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return value.byteLength;
  return Array.isArray(value) ? value.length : 0;
}

function* partsOf(value: object): Iterable<unknown> {
  if (ArrayBuffer.isView(value)) return;
  if (value instanceof Map) yield* [...value.keys(), ...value.values()];
  else if (value instanceof Set) yield* value;
  else for (const key of Object.keys(value)) yield* [key, Reflect.get(value, key)];
}
