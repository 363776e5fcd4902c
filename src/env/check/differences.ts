import { isDeepStrictEqual } from "node:util";

/** Where two values first differ, in words: `turns[1].observation was "a", then "b"`. Nothing for equal ones. */
export function firstDifference(before: unknown, after: unknown, path = ""): string | undefined {
  if (isDeepStrictEqual(before, after)) return undefined;
  if (isContainer(before) && isContainer(after) && Array.isArray(before) === Array.isArray(after)) {
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
      const where = Array.isArray(before) ? `${path}[${key}]` : path === "" ? key : `${path}.${key}`;
      const found = firstDifference(before[key], after[key], where);
      if (found !== undefined) return found;
    }
  }
  return `${path === "" ? "it" : path} was ${show(before)}, then ${show(after)}`;
}

function isContainer(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

const maxChars = 160;

/** A value for people, on one line and not too long. */
export function show(value: unknown): string {
  const text = typeof value === "object" || typeof value === "string" ? jsonOf(value) : String(value);
  return text.length <= maxChars ? text : `${text.slice(0, maxChars)}… (${text.length} characters)`;
}

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}
