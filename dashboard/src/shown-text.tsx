import type { LongText } from "../../src/server/dashboard/answers.ts";
import { whole } from "./numbers.ts";
import { setQuery } from "./router.tsx";

/** Control characters but tab and line feed, and those that are formats (direction, joiners, byte order). */
const invisible = /(?![\t\n])[\p{Cc}\p{Cf}]/gu;
// emoji sequences need these
const joiners = new Set(["\u200d", "\u200c"]);

/** Spells out characters that hide or reorder others, so that hostile model output cannot disguise itself. */
export function visible(text: string): string {
  return text.replace(invisible, (character) => {
    if (joiners.has(character)) return character;
    const code = character.codePointAt(0)!;
    return code < 0x20
      ? String.fromCodePoint(0x2400 + code)
      : `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}

export const ShownText = ({ text, className = "" }: { text: LongText; className?: string }) => (
  <div className={`text ${className}`} dir="auto">
    {visible(text.text)}
    {text.text.length < text.length && (
      <button type="button" className="more" onClick={() => setQuery({ full: "true" })}>
        … {whole(text.length - text.text.length)} more characters
      </button>
    )}
  </div>
);
