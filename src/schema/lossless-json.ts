const nul = "\u0000";

/** JSON that also keeps -0, NaN and the infinities: as strings behind a NUL, which strings that start with one get twice. */
export function toLosslessJson(value: unknown): string {
  // most values hold none of these, and a replacer takes several times as long
  if (isPlainJson(value)) return JSON.stringify(value);
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner === "string") return inner.startsWith(nul) ? nul + inner : inner;
    if (typeof inner !== "number" || (Number.isFinite(inner) && !Object.is(inner, -0))) return inner;
    return `${nul}${Object.is(inner, -0) ? "-0" : inner}`;
  });
}

/** Deeper values may be circles, which `JSON.stringify` refuses in its own words. */
const maxDepth = 100;

/** Whether `JSON.stringify` keeps all of it. Of what decides for itself how it is written, nothing is known. */
function isPlainJson(value: unknown, depth = 0): boolean {
  switch (typeof value) {
    case "number":
      return Number.isFinite(value) && !Object.is(value, -0);
    case "string":
      return !value.startsWith(nul);
    case "object":
      if (value === null) return true;
      if (depth > maxDepth || "toJSON" in value) return false;
      for (const key in value) {
        if (!isPlainJson((value as Readonly<Record<string, unknown>>)[key], depth + 1)) return false;
      }
      return true;
    default:
      return true;
  }
}

/** Reads what `toLosslessJson` wrote. */
export function fromLosslessJson(text: string): unknown {
  // most texts hold none, and a reviver visits every value
  if (!text.includes("\\u0000")) return JSON.parse(text);
  return JSON.parse(text, (_key, inner: unknown) => {
    if (typeof inner !== "string" || !inner.startsWith(nul)) return inner;
    return inner.startsWith(nul, 1) ? inner.slice(1) : Number(inner.slice(1));
  });
}
