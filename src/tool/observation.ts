/** What a tool returned, as text: strings as they are, nothing as `ok`, all else as JSON. Throws where JSON would lose something. */
export function toObservation(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === undefined) return "ok";
  return JSON.stringify(value, refuseLoss);
}

function refuseLoss(this: unknown, key: string, value: unknown): unknown {
  const kind = lostIn(value);
  if (kind === undefined) return value;
  throw new TypeError(`JSON cannot say ${kind}${key === "" ? "" : ` (in "${key}")`}`);
}

/** JSON.stringify drops these or writes `{}` without a word. It refuses circles itself. */
function lostIn(value: unknown): string | undefined {
  if (typeof value === "function") return "a function";
  if (typeof value === "symbol") return "a symbol";
  if (typeof value === "bigint") return "a BigInt: return a number or a string";
  if (value instanceof Map || value instanceof Set) return "a Map or Set: return an object or an array";
  if (value instanceof Promise) return "a promise: await it";
  return undefined;
}
