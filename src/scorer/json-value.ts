export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** Deeper texts count as not JSON, so that walking a value a model wrote cannot exhaust the stack. */
const deepest = 200;

/** What the text says as JSON; undefined where it is not JSON. */
export function parseJson(text: string): JsonValue | undefined {
  if (depthOf(text) > deepest) return undefined;
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** The value as it reads from JSON; null where it cannot be written as JSON or is nested too deep. */
export function asJson(value: unknown): JsonValue {
  try {
    return parseJson(JSON.stringify(value) ?? "null") ?? null;
  } catch {
    return null;
  }
}

/** By hand: an expression that skips strings takes quadratic time where quotes are not closed. */
function depthOf(text: string): number {
  let depth = 0;
  let most = 0;
  let isString = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (isString && character === "\\") at++;
    else if (character === '"') isString = !isString;
    else if (isString) continue;
    else if (character === "[" || character === "{") most = Math.max(most, ++depth);
    else if (character === "]" || character === "}") depth--;
  }
  return most;
}

export function isJsonObject(value: JsonValue | undefined): value is { readonly [key: string]: JsonValue } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** JSON without spaces whose keys are sorted by code unit at every depth: equal values give equal texts. */
export function canonicalJson(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key]!)}`).join(",")}}`;
}
