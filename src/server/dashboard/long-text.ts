import type { LongText } from "./answers.ts";

export const shownCharacters = 20_000;

/** Cuts between characters, not inside one. */
export function longText(text: string, most: number): LongText {
  if (text.length <= most) return { text, length: text.length };
  const code = text.charCodeAt(most - 1);
  const isHalf = code >= 0xd800 && code <= 0xdbff;
  return { text: text.slice(0, isHalf ? most - 1 : most), length: text.length };
}
