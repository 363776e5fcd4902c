const nul = "\u0000";

/** JSON that also keeps -0, NaN and the infinities: as strings behind a NUL, which strings that start with one get twice. */
export function toLosslessJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner === "string") return inner.startsWith(nul) ? nul + inner : inner;
    if (typeof inner !== "number" || (Number.isFinite(inner) && !Object.is(inner, -0))) return inner;
    return `${nul}${Object.is(inner, -0) ? "-0" : inner}`;
  });
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
