import { strip } from "./python-strings.ts";

const openings = /\\(?:boxed|fbox)(?:\s*(\{)| +)/g;

/**
 * What the last `\boxed{}` (or `\fbox{}`) holds; null where there is none or its braces never close, as in a text that was
 * cut off. `\boxed 5` without braces holds all up to the next `$`.
 */
export function lastBoxed(text: string): string | null {
  const last = [...text.matchAll(openings)].at(-1);
  if (last === undefined) return null;
  const start = last.index + last[0].length;
  if (last[1] === undefined) return strip(text.slice(start).split("$")[0]);
  let depth = 1;
  for (let at = start; at < text.length; at++) {
    if (text[at] === "{") depth++;
    if (text[at] === "}") depth--;
    if (depth === 0) return text.slice(start, at);
  }
  return null;
}
