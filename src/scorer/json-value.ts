import { parseBoundedJson } from "../bounded-json.ts";

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** What the text says as JSON; undefined where it is not JSON, or is nested deeper than `bounds.jsonDepth`. */
export function parseJson(text: string): JsonValue | undefined {
  try {
    return parseBoundedJson(text) as JsonValue;
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
